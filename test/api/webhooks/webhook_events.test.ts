import t from 'tap'
import { newId } from '#lib/ids.ts'
import { shows } from '#test/support/shows.ts'
import { openHistory } from '#test/support/webhooks/webhook_history.ts'

const { hook, pg, add, announce, insertEvent, get, idsOf, post, deliver, settle } = await openHistory(t)

t.test('GET /webhooks/:id/events/:event_id shows an event from pending to success', async t => {
  const [{ id }, { id: other }] = [await add(), await add()]
  const [event = ''] = await announce(['email.sent'])
  const path = `${id}/events/${event}`
  const waiting = await get(path)
  shows(t, waiting.body, { status: 'pending', next_attempt_at: waiting.body.created_at as string })
  const restUntil = (time: string | null) => pg.query('UPDATE webhooks SET rest_until = $2 WHERE id = $1', [id, time])
  await restUntil('2999-01-01T00:00:00Z')
  shows(t, (await get(path)).body, { next_attempt_at: '2999-01-01T00:00:00.000Z' }, 'its endpoint rests')
  await restUntil(null)
  t.strictSame(await idsOf(`${id}/events?status=pending`), [event])
  t.strictSame((await get(`${path}/attempts`)).body, { object: 'list', has_more: false, data: [] })

  const answer = Promise.withResolvers<() => void>()
  hook.answer((_, response) => answer.resolve(() => response.writeHead(503).end('so busy \0')))
  const delivered = deliver(id)
  const respond = await answer.promise
  shows(t, (await get(path)).body, { status: 'attempting' })
  t.strictSame(await idsOf(`${id}/events?status=attempting`), [event])
  t.strictSame(await idsOf(`${id}/events?status=pending`), [])
  t.strictSame(await idsOf(`${other}/events?status=attempting`), [])
  respond()
  await delivered
  shows(t, (await get(path)).body, { status: 'pending' })

  hook.answer(200)
  await post(`${id}/events/msg_${event}/replay`) // else it would wait for its next attempt
  await deliver(id)
  const { body } = await get(path)
  const { json } = hook.posted.at(-1) as (typeof hook.posted)[0]
  t.strictSame(body, {
    ...{ object: 'webhook_event', id: event, type: 'email.sent', created_at: json.created_at, status: 'success' },
    ...{ next_attempt_at: null, payload: json },
  })
  const { next_attempt_at: _, payload: __, ...listed } = body
  t.strictSame((await get(`${id}/events`)).body, { object: 'list', has_more: false, data: [listed] })
  t.strictSame((await get(`${id}/events/msg_${event}`)).body, body, 'by the webhook-id of its requests')

  const attempts = (await get(`${path}/attempts`)).body.data
  shows(t, attempts, [
    { attempt: 2, http_status_code: 200, response: '', error: null },
    { attempt: 1, http_status_code: 503, response: 'so busy \uFFFD', error: 'The endpoint responded with 503.' },
  ])
  const fields = ['object', 'id', 'attempt', 'http_status_code', 'response', 'error', 'ms', 'sent_at']
  t.strictSame(Object.keys(attempts[0] ?? {}), fields)
  t.strictSame(await idsOf(`${path}/attempts?limit=1`), [attempts[0]?.id])
  t.strictSame(await idsOf(`${path}/attempts?after=${attempts[0]?.id}`), [attempts[1]?.id])
  shows(t, (await get(`${other}/events/${event}`)).body, { status: 'pending' }, 'the other has its own')
})

t.test('GET /webhooks/:id/events filters by status, type and time', async t => {
  const { id } = await add()
  const types = ['email.sent', 'email.delivered', 'email.sent', 'email.bounced', 'email.sent']
  const ids = await announce(types)
  await settle(id, 'success', 1, ids.slice(2))
  await settle(id, 'failed', 7, ids.slice(1, 2))
  for (const [query, expected] of [
    ['', ids],
    ['status=success', ids.slice(2)],
    ['status=failed', ids.slice(1, 2)],
    ['status=pending', ids.slice(0, 1)],
    ['status=attempting', []],
    ['type=email.sent', [ids[0], ids[2], ids[4]]],
    ['type=email.sent&status=success', [ids[2], ids[4]]],
    ['type=test', []],
    ['limit=2', ids.slice(0, 2)],
    [`limit=2&after=${ids[1]}`, ids.slice(2, 4)],
    [`limit=2&before=${ids[4]}`, ids.slice(2, 4)],
    [`status=success&limit=1&before=msg_${ids[4]}`, [ids[3]]],
    ['created_after=2020-01-01', ids],
    ['created_before=2020-01-01', []],
    ['created_after=0001-01-01&created_before=9999-12-31T23:59:59.999Z', ids],
  ] as const) {
    t.strictSame(await idsOf(`${id}/events?${query}`), expected, query)
  }
  const old = await insertEvent(id, 'email.sent', 'failed', '2026-01-01T00:00:01Z')
  t.strictSame(await idsOf(`${id}/events?created_before=2026-01-01T00:00:01Z`), [])
  t.strictSame(await idsOf(`${id}/events?created_before=2026-01-01T00:00:01.001Z`), [old])
  t.strictSame(await idsOf(`${id}/events?created_after=2026-01-01T00:00:01Z`), ids)
  const wrong = ['status=sent', 'status=', 'type=x', 'type=', 'created_after=now', 'limit=0', 'after=1', 'before=msg_x']
  for (const query of [...wrong, 'status=failed&status=success', `after=${ids[0]}&before=${ids[1]}`]) {
    t.equal(await idsOf(`${id}/events?${query}`), 422, query)
  }
  for (const event of [newId(), 'x', '1', `msg_${newId()}`, `MSG_${ids[0]}`]) {
    for (const part of ['', '/attempts']) t.match(await get(`${id}/events/${event}${part}`), { status: 404 })
    t.match(await post(`${id}/events/${event}/replay`), { status: 404, body: { message: 'Event not found' } })
  }
  const { id: other } = await add()
  t.match(await get(`${other}/events/${ids[0]}`), { status: 404 }, 'the other webhook did not get the event')
})
