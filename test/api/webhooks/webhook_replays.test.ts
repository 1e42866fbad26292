import t from 'tap'
import { replayEvents } from '#flows/webhooks/replay_webhook.ts'
import { replaySlice } from '#sql/webhooks/replays.ts'
import { shows } from '#test/support/shows.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'

const { hook, world, account, api, pg, add, announce, insertEvent, post, deliver, rowsOf, settle } =
  await openHistory(t)

t.test('POST /webhooks/:id/events/:event_id/replay restarts the retry schedule', async t => {
  const { id } = await add()
  const [late = '', failed = ''] = await announce(['email.sent', 'email.sent'])
  await settle(id, 'failed', 7, [failed])
  await pg.query(
    `UPDATE webhook_deliveries SET attempt = 3, next_at = now() + interval '1 h' WHERE webhook_id = $1 AND event_id = $2`,
    [id, late],
  )
  for (const event of [late, failed]) {
    const { status, text } = await post(`${id}/events/${event}/replay`)
    t.strictSame([status, text], [200, `{"object":"webhook_event","id":"${event}"}`])
  }
  shows(t, await rowsOf(id), [
    { id: late, state: 'pending', attempt: 3, first_attempt: 0, is_due: true },
    { id: failed, state: 'pending', attempt: 7, first_attempt: 7, is_due: true },
  ])
  hook.answer(500)
  await deliver(id)
  shows(t, await rowsOf(id), [{ attempt: 4 }, { state: 'pending', attempt: 8, first_attempt: 7 }], 'it is tried again')
  hook.answer(200)
  for (const event of [late, failed]) await post(`${id}/events/${event}/replay`)
  await deliver(id)
  shows(t, await rowsOf(id), [{ state: 'success' }, { state: 'success', attempt: 9 }])

  await post(`${id}/events/${late}/replay`)
  await deliver(id)
  shows(
    t,
    await rowsOf(id),
    [
      { state: 'success', attempt: 6 },
      { state: 'success', attempt: 9 },
    ],
    'also what has arrived',
  )

  await api.request('PATCH', `/api/webhooks/${id}`, { body: { status: 'disabled' } })
  const from = '2020-01-01'
  for (const refused of [await post(`${id}/events/${late}/replay`), await post(`${id}/replay`, { from })]) {
    t.match(refused, { status: 422, body: { name: 'validation_error', message: /enable it first/ } })
  }
})

t.test('POST /webhooks/:id/replay replays failed or successful events of a time range, no tests', async t => {
  const { id } = await add()
  const at = (second: number) => `2026-01-01T00:00:0${second}Z`
  const ids: string[] = []
  for (const [second, type, state] of [
    [1, 'email.sent', 'failed'],
    [2, 'email.bounced', 'failed'],
    [3, 'test', 'failed'],
    [4, 'email.sent', 'success'],
    [5, 'email.sent', 'failed'],
  ] as const) {
    ids.push(await insertEvent(id, type, state, at(second)))
  }
  const replay = async (body: object) => {
    await pg.query(`UPDATE webhook_deliveries SET first_attempt = 0 WHERE webhook_id = $1`, [id])
    const answer = await post(`${id}/replay`, body)
    const due = (await rowsOf(id)).filter(row => row.state === 'pending' && row.is_due && row.first_attempt === 2)
    const replayed = due.map(row => ids.indexOf(row.id) + 1).reverse()
    t.strictSame(JSON.parse(answer.text), { object: 'webhook', id, replayed: replayed.length })
    await pg.query(
      `UPDATE webhook_deliveries SET state = CASE event_id WHEN $2 THEN 'success' ELSE 'failed' END, next_at = NULL
       WHERE webhook_id = $1`,
      [id, ids[3]],
    )
    return replayed
  }
  t.strictSame(await replay({ from: at(1) }), [1, 2, 5])
  t.strictSame(await replay({ from: at(2) }), [2, 5])
  t.strictSame(await replay({ from: at(1), to: at(5) }), [1, 2])
  t.strictSame(await replay({ from: '2020-01-01', status: 'success' }), [4])
  t.strictSame(await replay({ from: '2020-01-01', type: 'email.sent' }), [1, 5])
  t.strictSame(await replay({ from: at(6) }), [])
  await insertEvent(id, 'email.sent', 'failed', new Date(Date.now() + 60_000).toISOString())
  t.strictSame(await replay({ from: at(2) }), [2, 5], 'no event that is newer than the request')

  t.match(await post(`${id}/events/${ids[2]}/replay`), { status: 422, body: { message: /test/ } })
  t.match(await post(`${id}/replay`), { status: 422, body: { name: 'missing_required_field' } })
  for (const body of [
    ...[{ from: 5 }, { from: 'yesterday' }, { from: at(1), to: at(1) }, { from: at(2), to: at(1) }, { from: null }],
    ...[{ from: at(1), status: 'pending' }, { from: at(1), type: 'test' }, { from: at(1), to: 'x' }, []],
  ]) {
    t.match(await post(`${id}/replay`, body), { status: 422, body: { name: 'validation_error' } }, JSON.stringify(body))
  }
})

t.test('a replay of more events than one statement takes replays each once', async t => {
  const { id } = await add()
  await pg.query(
    `WITH e AS (
      INSERT INTO webhook_events SELECT $1, event_id('2026-02-01', n), 'email.sent', '{}', '2026-02-01'
      FROM generate_series(1, 1200) n RETURNING *
    )
    INSERT INTO webhook_deliveries SELECT account_id, id, $2, 'success', 1 FROM e`,
    [account.id, id],
  )
  const which = { from: new Date('2026-02-01'), status: 'success' } as const
  const webhook = { account_id: account.id, webhook_id: id }
  t.equal(await replayEvents(world.pool, webhook, which), 1_200)
  await post(`${id}/replay`, which)
  t.ok((await rowsOf(id)).every(row => row.state === 'pending' && row.first_attempt === 1))

  await settle(
    id,
    'failed',
    1,
    (await rowsOf(id)).slice(0, 2).map(row => row.id),
  )
  const next = () => replaySlice(world.pool, webhook, { ...which, to: new Date(), status: 'failed' }, null, 1)
  t.match(await next(), { replayed: 1, last: /-/ })
  await api.request('PATCH', `/api/webhooks/${id}`, { body: { status: 'disabled' } })
  t.strictSame(await next(), { replayed: 0, last: null }, 'the replay stops when the webhook is disabled')
  await api.request('DELETE', `/api/webhooks/${id}`)
})
