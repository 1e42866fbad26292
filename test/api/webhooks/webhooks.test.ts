import { createHmac } from 'node:crypto'
import t from 'tap'
import { EVENT_TYPES } from '#lib/webhooks/event_types.ts'
import { MAX_WEBHOOKS } from '#lib/webhooks/new_webhook.ts'
import { startApi } from '#test/support/api.ts'
import { dumpTables, formsOf } from '#test/support/database/dump.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { ELSEWHERE, HERE } from '#test/support/http/hostile_hosts.ts'
import { readLogs } from '#test/support/request_log.ts'
import { shows } from '#test/support/shows.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const hook = await startHook(t)
const world = await openWorld(t, { FETCH_ALLOW: ALLOWED, FETCH_PORTS: `80,443,${hook.port}` })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { pg } = world.pool

const endpoint = 'https://hook.acme.com/in'
const events = ['email.delivered']
const SECRET = /^whsec_[A-Za-z0-9+/]{32}$/

type Webhook = { id: string; signing_secret: string; events: string[]; data: { id: string }[] }
const call = async (method: string, path = '', body?: unknown, key = account.key) => {
  const answer = await api.request(method, `/api/webhooks${path}`, { key, ...(body === undefined ? {} : { body }) })
  return { ...answer, body: answer.body as unknown as Webhook }
}
const add = async (fields: object = {}) => (await call('POST', '', { endpoint, events, ...fields })).body

t.test('webhooks are created, read, listed and deleted; the secret is returned once', async t => {
  const { status, body } = await call('POST', '', { endpoint, events: ['email.bounced', 'email.sent', 'email.sent'] })
  t.equal(status, 201)
  const { signing_secret, ...record } = body
  t.match(signing_secret, SECRET)
  t.match(record.id, /^\d+$/)
  shows(t, record, {
    ...{ object: 'webhook', endpoint, events: ['email.sent', 'email.bounced'], status: 'enabled', failure_count: 0 },
    ...{
      last_delivery_status: null,
      last_delivery_at: null,
      disabled_reason: null,
      created_at: /Z$/,
      updated_at: /Z$/,
    },
  })
  t.strictSame((await call('GET', `/${record.id}`)).body, record)
  const list = await call('GET', '?limit=1')
  t.strictSame(list.body, { object: 'list', has_more: false, data: [record] })

  t.match(await call('DELETE', `/${record.id}`), {
    status: 200,
    text: `{"object":"webhook","id":"${record.id}","deleted":true}`,
  })
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/test'],
    ['GET', '/events'],
  ] as const) {
    const gone = await call(method, `/${record.id}${path}`, method === 'GET' ? undefined : {})
    t.match(gone, { status: 404, text: /Webhook not found/ }, method + path)
  }
  t.strictSame((await call('GET')).body.data, [])
})

t.test('`*` and `all` subscribe to every event type', async t => {
  for (const names of [['*'], ['all'], ['email.sent', 'all'], '*', 'all'])
    t.strictSame((await add({ events: names })).events, ['*'])
  t.strictSame((await add({ events: [...EVENT_TYPES] })).events, [...EVENT_TYPES])
})

t.test('POST and PATCH refuse invalid webhooks', async t => {
  const { id } = await add()
  t.match(await call('POST', '', { events }), { status: 422, body: { name: 'missing_required_field' } })
  t.match(await call('POST', '', { endpoint }), { status: 422, body: { name: 'missing_required_field' } })
  const hosts = [...HERE, ...ELSEWHERE, 'localhost', 'a.localhost', '10.0.0.1', '169.254.169.254', '168.63.129.16']
  const endpoints = [
    ...hosts.map(host => `http://${host}/`),
    ...['', 'hook', 'ftp://a.com/', 'file:///etc/passwd', 'data:,x', 'https://me:pass@a.com/', 'https://me@a.com/'],
    ...['http://a.com:22/', 'https://a.com:5432/', `https://a.com/${'x'.repeat(2_048)}`, 5, null, ['https://a.com/']],
  ]
  const names = [
    [],
    ['test'],
    ['email'],
    ['email.*'],
    ['email.sent', 'x'],
    [''],
    [5],
    'email.sent',
    null,
    Array(101).fill('*'),
  ]
  const wrong = [...endpoints.map(endpoint => ({ endpoint })), ...names.map(events => ({ events }))]
  const { updated_at } = (await call('GET', `/${id}`)).body as unknown as { updated_at: string }
  for (const fields of [...wrong, { status: 'paused' }, { status: null }]) {
    const what = JSON.stringify(fields).slice(0, 80)
    const refusal = { status: 422, body: { name: 'validation_error' } }
    if (!('status' in fields)) t.match(await call('POST', '', { endpoint, events, ...fields }), refusal, what)
    t.match(await call('PATCH', `/${id}`, fields), refusal, what)
  }
  shows(t, (await call('GET', `/${id}`)).body, { endpoint, events, status: 'enabled', updated_at })
})

t.test('PATCH /webhooks/:id changes the given fields; enabling resets the failures', async t => {
  const { id } = await add()
  t.match(await call('PATCH', `/${id}`, { endpoint: 'HTTPS://Other.com' }), {
    status: 200,
    text: `{"object":"webhook","id":"${id}"}`,
  })
  shows(t, (await call('GET', `/${id}`)).body, { endpoint: 'https://other.com/', events, status: 'enabled' })

  await call('PATCH', `/${id}`, { status: 'disabled', events: ['email.sent'] })
  const disabled = { status: 'disabled', disabled_reason: 'manual', events: ['email.sent'] }
  t.match((await call('GET', `/${id}`)).body, disabled)
  await pg.query(`UPDATE webhooks SET disabled_reason = 'endpoint_gone' WHERE id = $1`, [id])
  await call('PATCH', `/${id}`, { status: 'disabled' })
  shows(t, (await call('GET', `/${id}`)).body, { disabled_reason: 'endpoint_gone' }, 'the first reason stays')

  const fail = (failures: number) =>
    pg.query(
      `UPDATE webhooks SET failure_count = $2, recent_results = 'fffff', rests = 3, rest_until = now() + interval '1 h'
       WHERE id = $1`,
      [id, failures],
    )
  await fail(50)
  await call('PATCH', `/${id}`, { status: 'enabled' })
  shows(t, (await call('GET', `/${id}`)).body, { status: 'enabled', disabled_reason: null, failure_count: 0 })
  const standing = async () =>
    (await pg.query('SELECT rest_until > now() AS is_resting, recent_results, rests FROM webhooks WHERE id = $1', [id]))
      .rows
  t.same(await standing(), [{ is_resting: null, recent_results: '', rests: 0 }])

  await fail(49)
  for (const [url, failure_count, is_resting, recent_results, rests] of [
    ['https://other.com/', 49, true, 'fffff', 3],
    ['https://another.com/', 0, null, '', 0],
  ] as const) {
    await call('PATCH', `/${id}`, { endpoint: url })
    t.match((await call('GET', `/${id}`)).body, { endpoint: url, failure_count })
    t.same(await standing(), [{ is_resting, recent_results, rests }])
  }
})

t.test('both rotate routes replace the secret, and the old one no longer signs', async t => {
  const { id, signing_secret } = await add({ endpoint: hook.url })
  const secrets = [signing_secret]
  for (const path of ['rotate', 'signing-secret/rotate']) {
    const { status, body } = await call('POST', `/${id}/${path}`)
    t.equal(status, 200)
    t.strictSame(Object.keys(body), ['object', 'id', 'signing_secret'])
    t.match(body, { object: 'webhook', id, signing_secret: SECRET })
    secrets.push(body.signing_secret)
    await call('POST', `/${id}/test`)
    const { headers, body: sent } = hook.posted.at(-1) as (typeof hook.posted)[0]
    const signatures = secrets.map(secret =>
      createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.`).update(sent).digest('hex'),
    )
    t.equal(signatures.indexOf(String(headers['x-service-signature'])), secrets.length - 1)
  }
  t.equal(new Set(secrets).size, 3)
})

t.test('a signing secret is stored nowhere in plain text', async t => {
  const other = await newAccount(world)
  const { body } = await call('POST', '', { endpoint, events }, other.key)
  const { body: rotated } = await call('POST', `/${body.id}/rotate`, undefined, other.key)
  await readLogs(world.pool, other, 2)
  const dump = Array.from((await dumpTables(world.pool)).values()).join('\n')
  t.match(dump, /signing_secret[^}]*redacted/)
  for (const secret of [body.signing_secret, rotated.signing_secret]) {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    for (const form of [...formsOf(secret), ...formsOf(key)]) t.notOk(dump.includes(form))
  }
})

t.test('webhook ids are numbers, in paths and cursors', async t => {
  const ids = [await add(), await add(), await add()].map(({ id }) => id).reverse()
  const listed = async (query: string) => (await call('GET', query)).body.data.map(({ id }) => id)
  t.strictSame(await listed('?limit=3'), ids)
  t.strictSame(await listed(`?limit=1&after=${ids[0]}`), [ids[1]])
  t.strictSame(await listed(`?limit=1&before=${ids[2]}`), [ids[1]])
  t.strictSame(await listed('?after=0'), [])
  t.strictSame(await listed(`?limit=3&after=9223372036854775807`), ids)
  for (const cursor of ['x', '-1', '1.5', '01', '0x1', ' 1', '01890000-0000-7000-8000-000000000000']) {
    t.match(await call('GET', `?after=${encodeURIComponent(cursor)}`), { status: 422 }, cursor)
    for (const path of ['', '/events', '/events/01890000-0000-7000-8000-000000000000/attempts']) {
      t.match(await call('GET', `/${encodeURIComponent(cursor)}${path}`), { status: 404 }, cursor + path)
    }
  }
  for (const id of ['x', '999999999999', '9223372036854775807', '9'.repeat(400)]) {
    for (const path of ['/test', '/rotate', '/signing-secret/rotate', '/replay']) {
      t.match(await call('POST', `/${id}${path}`, {}), { status: 404, text: /Webhook not found/ }, id + path)
    }
  }
})

t.test(`an account has at most ${MAX_WEBHOOKS} webhooks, even by concurrent requests`, async t => {
  const other = await newAccount(world)
  const add = (count: number) =>
    Promise.all(Array.from({ length: count }, () => call('POST', '', { endpoint, events }, other.key)))
  const answers: Awaited<ReturnType<typeof call>>[] = []
  while (answers.length < MAX_WEBHOOKS + 10) answers.push(...(await add(12)))
  const made = answers.filter(({ status }) => status === 201)
  t.equal(made.length, MAX_WEBHOOKS)
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    t.match(answer, { status: 422, body: { name: 'validation_error', message: /50 webhooks/ } })
  }
  await call('DELETE', `/${made[0]?.body.id}`, undefined, other.key)
  t.equal((await call('POST', '', { endpoint, events }, other.key)).status, 201, 'a deleted webhook makes room')
})

t.test('a private endpoint is refused with a message that names FETCH_ALLOW', async t => {
  for (const endpoint of ['http://127.0.0.1/hook', 'http://localhost/hook', 'http://10.1.2.3/hook']) {
    const { status, body } = await api.request('POST', '/api/webhooks', { body: { endpoint, events: ['*'] } })
    t.equal(status, 422)
    t.match(body.message, /^`endpoint` must be on a public host, .*\(FETCH_ALLOW\)\.$/)
  }
})
