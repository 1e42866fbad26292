import { createHmac } from 'node:crypto'
import { Resend } from 'resend'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as Svix } from 'svix'
import t from 'tap'
import { addWebhook } from '../../flows/change_webhook.ts'
import { replayEvents } from '../../flows/replay_webhook.ts'
import { sweepWebhooks } from '../../flows/sweep.ts'
import { newId } from '../../lib/ids.ts'
import { purge } from '../../tasks/purge.ts'
import { send_emails } from '../../tasks/send_emails.ts'
import { startApi } from '../api.ts'
import { ALLOWED } from '../fetching.ts'
import { startHook } from '../hook.ts'
import { acceptEmail, openWork } from '../sending.ts'
import { newAccount, openWorld, type TestAccount } from '../world.ts'

const hook = await startHook(t)
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: String(hook.port) })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const { pg } = world.pool

type Event = { id: string; type: string; status: string; created_at: string }
type List = { object: string; has_more: boolean; data: Event[] }

let webhooks = 0
/** With an endpoint of its own. */
const add = (events = ['*'], owner = account) =>
  addWebhook(world, owner.id, { endpoint: `${hook.url}/${++webhooks}`, events })

/** Events of an account, each of the next millisecond; their ids, newest first. */
async function announce(types: string[], owner: TestAccount = account): Promise<string[]> {
  const ids: string[] = []
  for (const [n, type] of types.entries()) {
    await pg.query('SELECT announce_events($1)', [JSON.stringify([{ account_id: owner.id, type, data: { n } }])])
    const { rows } = await pg.query('SELECT max(id::text) AS id FROM webhook_events WHERE account_id = $1', [owner.id])
    ids.unshift(rows[0].id)
  }
  return ids
}

const get = async (path: string) => {
  const { status, body } = await api.request('GET', `/api/webhooks/${path}`)
  return { status, body: body as unknown as List & Record<string, unknown> }
}
const idsOf = async (path: string) => {
  const { status, body } = await get(path)
  return status === 200 ? body.data.map(({ id }) => id) : status
}
const post = (path: string, body: unknown = {}) => api.request('POST', `/api/webhooks/${path}`, { body })
const deliver = async (id: string) => {
  await work.webhooks.offer([{ account_id: account.id, id: Number(id) }])
  await work.webhooks.idle()
}
const rowsOf = async (id: string) => {
  const { rows } = await pg.query(
    `SELECT event_id AS id, state, attempt, first_attempt, next_at <= now() AS is_due FROM webhook_deliveries
     WHERE webhook_id = $1 ORDER BY event_id DESC`,
    [id],
  )
  return rows
}
const settle = (id: string, state: 'failed' | 'success', attempt: number, events: string[]) =>
  pg.query(
    `UPDATE webhook_deliveries SET state = $2, attempt = $3, next_at = NULL WHERE webhook_id = $1 AND event_id = ANY ($4)`,
    [id, state, attempt, events],
  )

async function insertEvent(id: string, type: string, state: string, time: string, owner = account): Promise<string> {
  const { rows } = await pg.query(
    `WITH e AS (INSERT INTO webhook_events VALUES ($1, event_id($4, 0), $3, '{}', $4) RETURNING *)
     INSERT INTO webhook_deliveries SELECT account_id, id, $2, $5, 2 FROM e RETURNING event_id`,
    [owner.id, id, type, time, state],
  )
  return rows[0].event_id
}

t.test('an event is in the history of each webhook, from when it waits until it has arrived', async t => {
  const [{ id }, { id: other }] = [await add(), await add()]
  const [event = ''] = await announce(['email.sent'])
  const path = `${id}/events/${event}`
  const waiting = await get(path)
  t.match(waiting.body, { status: 'pending', next_attempt_at: waiting.body.created_at as string })
  t.strictSame(await idsOf(`${id}/events?status=pending`), [event])
  t.strictSame((await get(`${path}/attempts`)).body, { object: 'list', has_more: false, data: [] })

  const answer = Promise.withResolvers<() => void>()
  hook.answer((_, response) => answer.resolve(() => response.writeHead(503).end('so busy \0')))
  const delivered = deliver(id)
  const respond = await answer.promise
  t.match((await get(path)).body, { status: 'attempting' })
  t.strictSame(await idsOf(`${id}/events?status=attempting`), [event])
  t.strictSame(await idsOf(`${id}/events?status=pending`), [])
  t.strictSame(await idsOf(`${other}/events?status=attempting`), [])
  respond()
  await delivered
  t.match((await get(path)).body, { status: 'pending' })

  hook.answer(200)
  await post(`${id}/events/msg_${event}/replay`) // it would wait otherwise
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
  t.match(attempts, [
    { attempt: 2, http_status_code: 200, response: '', error: null },
    { attempt: 1, http_status_code: 503, response: 'so busy \uFFFD', error: 'The endpoint answered 503.' },
  ])
  const fields = ['object', 'id', 'attempt', 'http_status_code', 'response', 'error', 'ms', 'sent_at']
  t.strictSame(Object.keys(attempts[0] ?? {}), fields)
  t.strictSame(await idsOf(`${path}/attempts?limit=1`), [attempts[0]?.id])
  t.strictSame(await idsOf(`${path}/attempts?after=${attempts[0]?.id}`), [attempts[1]?.id])
  t.match((await get(`${other}/events/${event}`)).body, { status: 'pending' }, 'the other has its own')
})

t.test('the list is told apart by what became of events, their type and time', async t => {
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
    ['created_after=0000-01-01&created_before=9999-12-31T23:59:59.999Z', ids],
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
  t.match(await get(`${other}/events/${ids[0]}`), { status: 404 }, 'it was not told of it')
})

t.test('an event is replayed, by a schedule that begins anew', async t => {
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
  t.match(await rowsOf(id), [
    { id: late, state: 'pending', attempt: 3, first_attempt: 0, is_due: true },
    { id: failed, state: 'pending', attempt: 7, first_attempt: 7, is_due: true },
  ])
  hook.answer(500)
  await deliver(id)
  t.match(await rowsOf(id), [{ attempt: 4 }, { state: 'pending', attempt: 8, first_attempt: 7 }], 'it is tried again')
  hook.answer(200)
  for (const event of [late, failed]) await post(`${id}/events/${event}/replay`)
  await deliver(id)
  t.match(await rowsOf(id), [{ state: 'success' }, { state: 'success', attempt: 9 }])

  await post(`${id}/events/${late}/replay`)
  await deliver(id)
  t.match(await rowsOf(id), [{ state: 'success', attempt: 6 }], 'also what has arrived')

  await api.request('PATCH', `/api/webhooks/${id}`, { body: { status: 'disabled' } })
  const from = '2020-01-01'
  for (const refused of [await post(`${id}/events/${late}/replay`), await post(`${id}/replay`, { from })]) {
    t.match(refused, { status: 422, body: { name: 'validation_error', message: /enable it first/ } })
  }
})

t.test('a time range is replayed: what failed, or all that had arrived, but no test', async t => {
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

  t.match(await post(`${id}/events/${ids[2]}/replay`), { status: 422, body: { message: /test/ } })
  t.match(await post(`${id}/replay`), { status: 422, body: { name: 'missing_required_field' } })
  for (const body of [
    ...[{ from: 5 }, { from: 'yesterday' }, { from: at(1), to: at(1) }, { from: at(2), to: at(1) }, { from: null }],
    ...[{ from: at(1), status: 'pending' }, { from: at(1), type: 'test' }, { from: at(1), to: 'x' }, []],
  ]) {
    t.match(await post(`${id}/replay`, body), { status: 422, body: { name: 'validation_error' } }, JSON.stringify(body))
  }
})

t.test('more than one statement takes are replayed, each of them once', async t => {
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
  t.equal(await replayEvents(world.pool, { account_id: account.id, webhook_id: id }, which), 1_200)
  await post(`${id}/replay`, which)
  t.ok((await rowsOf(id)).every(row => row.state === 'pending' && row.first_attempt === 1))
  await api.request('DELETE', `/api/webhooks/${id}`)
})

t.test('real deliveries verify with the packages of receivers, and by an independent computation', async t => {
  const owner = await newAccount(world)
  const { id, signing_secret } = await add(['email.delivered'], owner)
  const email = await acceptEmail(world, owner, {
    subject: 'Grüße 🦄 \u2028 "x" \\ Ω',
    from: `Jürgen <me@${owner.domain}>`,
  })
  await send_emails({ email_ids: [email] }, work)
  await work.sender.idle()
  await work.webhooks.offer([{ account_id: owner.id, id: Number(id) }])
  const { body, headers, json } = await hook.until(({ json }) => json.data?.email_id === email)
  await work.webhooks.idle()

  t.match(json, { type: 'email.delivered', data: { subject: 'Grüße 🦄 \u2028 "x" \\ Ω' } })
  const given = headers as Record<string, string>
  const parts = {
    id: given['webhook-id'],
    timestamp: given['webhook-timestamp'],
    signature: given['webhook-signature'],
  }
  const resend = new Resend('re_x')
  const verifiers = {
    standardwebhooks: (raw: string, secret: string) => new StandardWebhook(secret).verify(raw, given),
    svix: (raw: string, secret: string) => new Svix(secret).verify(raw, given),
    resend: (payload: string, webhookSecret: string) =>
      resend.webhooks.verify({ payload, headers: parts as Required<typeof parts> as never, webhookSecret }),
  }
  const { signing_secret: another } = await add(['*'], owner)
  for (const [name, verify] of Object.entries(verifiers)) {
    t.strictSame(verify(body.toString(), signing_secret) ?? json, json, name) // svix only throws
    t.throws(() => verify(`${body} `, signing_secret), name)
    t.throws(() => verify(body.toString(), another), name)
  }
  const signed = createHmac('sha256', signing_secret).update(`${given['x-service-timestamp']}.${body}`).digest('hex')
  t.equal(given['x-service-signature'], signed)
  t.ok(Math.abs(Number(given['x-service-timestamp']) - Date.now() / 1_000) < 60)
})

t.test('the `resend` package manages webhooks as it is', async t => {
  const { webhooks } = new Resend(account.key, { baseUrl: `${api.url}/api` })
  const must = <T>({ data, error }: { data: T | null; error: unknown }) => {
    t.equal(error, null)
    return data as T
  }
  const endpoint = `${hook.url}/sdk`
  const { id, signing_secret } = must(await webhooks.create({ endpoint, events: ['email.sent'] }))
  t.match(signing_secret, /^whsec_/)
  t.match(must(await webhooks.get(id)), { object: 'webhook', id, endpoint, status: 'enabled', events: ['email.sent'] })
  t.match(must(await webhooks.list({ limit: 1 })), { object: 'list', has_more: true, data: [{ id, endpoint }] })
  t.strictSame(must(await webhooks.update(id, { events: ['email.sent', 'email.bounced'] })), { object: 'webhook', id })
  const rotated = must(await webhooks.rotateSigningSecret(id))
  t.match(rotated, { object: 'webhook', id, signing_secret: /^whsec_/ })
  t.not(rotated.signing_secret, signing_secret)

  const [second = '', first = ''] = await announce(['email.sent', 'email.bounced'])
  await deliver(id)
  const page = must(await webhooks.events.list({ webhookId: id, limit: 1 }))
  t.match(page, { object: 'list', has_more: true, data: [{ id: second, type: 'email.bounced', status: 'success' }] })
  const rest = must(await webhooks.events.list({ webhookId: id, after: second }))
  t.match(rest, { has_more: false, data: [{ id: first }] })
  const named = { webhookId: id, eventId: first }
  t.match(must(await webhooks.events.get(named)), {
    object: 'webhook_event',
    payload: { type: 'email.sent', id: first },
  })
  t.strictSame(must(await webhooks.events.replay(named)), { object: 'webhook_event', id: first })
  await deliver(id)
  const attempts = must(await webhooks.events.attempts.list({ ...named, limit: 5 }))
  t.match(attempts.data, [{ http_status_code: 200, response: '', sent_at: /Z$/ }, { http_status_code: 200 }])
  t.strictSame(must(await webhooks.remove(id)), { object: 'webhook', id, deleted: true })
  t.match(await webhooks.get(id), { data: null, error: { name: 'not_found', statusCode: 404 } })
})

t.test('what waits for a disabled webhook is dropped by the sweep, and nothing else', async t => {
  const [off, on] = [await add(), await add()]
  const ids = await announce(['email.sent', 'email.sent'])
  await pg.query(`UPDATE webhooks SET status = 'disabled', disabled_reason = 'too_many_failures' WHERE id = $1`, [
    off.id,
  ])
  await settle(off.id, 'success', 1, ids.slice(0, 1))
  await sweepWebhooks(world.pool)
  t.match(await rowsOf(off.id), [{ state: 'success' }, { state: 'failed', attempt: 0 }])
  t.match(await rowsOf(on.id), [{ state: 'pending' }, { state: 'pending' }])
})

t.test('events are kept for 30 days; those of a deleted webhook go with it, unless another was told too', async t => {
  const owner = await newAccount(world)
  const [kept, gone] = [await add(['email.sent'], owner), await add(['*'], owner)]
  const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
  const [shared = '', own = ''] = await announce(['email.bounced', 'email.sent'], owner)
  const old = await insertEvent(kept.id, 'email.sent', 'failed', days(31), owner)
  const recent = await insertEvent(kept.id, 'email.sent', 'failed', days(29), owner)
  await pg.query('UPDATE webhooks SET deleted_at = now() WHERE id = $1', [gone.id])
  await pg.query(
    `INSERT INTO webhook_attempts (account_id, event_id, webhook_id, attempt, id, ms, created_at)
     SELECT account_id, event_id, webhook_id, 1, gen_random_uuid(), 1, now() FROM webhook_deliveries WHERE account_id = $1`,
    [owner.id],
  )
  const left = async () => {
    const of = (table: string, column: string) =>
      pg.query(`SELECT ${column} AS id FROM ${table} WHERE account_id = $1 ORDER BY 1`, [owner.id])
    const tables = [
      of('webhook_events', 'id'),
      of('webhook_deliveries', 'event_id'),
      of('webhook_attempts', 'event_id'),
    ]
    return (await Promise.all(tables)).map(({ rows }) => rows.map(({ id }) => id))
  }
  t.ok((await left())[0]?.includes(old) && (await left())[0]?.includes(own))
  await purge({}, work)
  t.strictSame(await left(), [
    [recent, shared],
    [recent, shared],
    [recent, shared],
  ])
  const row = () => pg.query('SELECT FROM webhooks WHERE id = $1', [gone.id])
  t.equal((await row()).rowCount, 1, 'whoever has just seen it may still write')
  await pg.query(`UPDATE webhooks SET deleted_at = now() - interval '2 min' WHERE id = $1`, [gone.id])
  await purge({}, work)
  t.equal((await row()).rowCount, 0)
})
