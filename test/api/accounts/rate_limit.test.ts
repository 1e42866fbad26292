import t, { type Test } from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { layFoundation } from '#flows/process/run_process.ts'
import { createLog } from '#lib/log.ts'
import { sql } from '#sql/pool.ts'
import { type Api, type RequestOptions, startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, testConfig } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }

/** Starts a separate web process, by default behind a trusted proxy. */
async function openApi(t: Test, sends: number, TRUSTED_PROXIES = '127.0.0.0/8', log = world.log): Promise<Api> {
  const environment = { SENDS_PER_MINUTE: String(sends), TRUSTED_PROXIES }
  const foundation = await layFoundation(testConfig(world.config.DATABASE_URL as string, environment), log)
  t.teardown(() => foundation.pool.end())
  return startApi(t, foundation, account.key)
}

const send = (api: Api, client: string, options: RequestOptions = { body: email }) =>
  api.request('POST', '/api/emails', { ...options, headers: { 'x-forwarded-for': client, ...options.headers } })

const limitOf = ({ headers }: { headers: Headers }) =>
  ['limit', 'policy', 'remaining', 'reset'].map(name => headers.get(`ratelimit-${name}`))

t.test('every response has RateLimit headers, and a 429 has Retry-After', async t => {
  const api = await openApi(t, 2)
  const answers = [await send(api, '1.0.0.1'), await send(api, '1.0.0.1', { raw: '{' }), await send(api, '1.0.0.1')]
  shows(t, answers, [{ status: 200 }, { status: 422 }, { status: 429 }])
  for (const [index, remaining] of ['1', '0', '0'].entries()) {
    shows(t, limitOf(answers[index] as never), ['2', '2;w=60', remaining, /^(60|5\d)$/])
  }
  const [first, , last] = answers
  t.equal(first?.headers.get('retry-after'), null)
  t.equal(last?.headers.get('retry-after'), last?.headers.get('ratelimit-reset'))
  t.match(last?.body, { statusCode: 429, name: 'rate_limit_exceeded', message: /at most 2 per minute/ })
})

t.test('a request that its key may not make counts as no send', async t => {
  const api = await openApi(t, 1)
  const scope = { account_id: account.id, name: 'sender', permission: 'sending_access', domain_id: null } as const
  const key = await createApiKey(world.pool, world.secrets, { ...scope, expires_at: null })
  const headers = { 'x-forwarded-for': '1.0.0.98' }
  for (let n = 0; n < 2; n++) {
    const refused = await api.request('POST', '/api/emails/receiving/x/reply', { key, body: {}, headers })
    shows(t, refused, { status: 401, body: { name: 'restricted_api_key' } })
  }
  shows(t, await send(api, '1.0.0.98'), { status: 200 })
})

t.test('replies and forwards count as sends', async t => {
  const api = await openApi(t, 2)
  const headers = { 'x-forwarded-for': '1.0.0.99' }
  const answers = []
  for (const verb of ['reply', 'forward', 'reply']) {
    answers.push(await api.request('POST', `/api/emails/receiving/x/${verb}`, { body: {}, headers }))
  }
  shows(t, answers, [{ status: 404 }, { status: 404 }, { status: 429 }])
  shows(t, limitOf(answers[1] as never), ['2', '2;w=60', '0', /^(60|5\d)$/])
})

t.test('two processes share one exact count in a burst', async t => {
  const apis = [await openApi(t, 7), await openApi(t, 7)]
  const burst = Array.from({ length: 20 }, (_, n) => send(apis[n % 2] as Api, '1.0.0.2'))
  const statuses = (await Promise.all(burst)).map(({ status }) => status)
  t.equal(statuses.filter(status => status === 200).length, 7)
  t.equal(statuses.filter(status => status === 429).length, 13)
})

t.test('the count starts over when its window ends', async t => {
  const api = await openApi(t, 2)
  await send(api, '1.0.0.3')
  await world.pool.pg.query(`UPDATE rate_limits SET expire = 1, points = 100 WHERE key = 'send:1.0.0.3'`)
  shows(t, limitOf(await send(api, '1.0.0.3')), ['2', '2;w=60', '1', /^(60|5\d)$/])
})

t.test('requests over the limit are not counted in Postgres', async t => {
  const api = await openApi(t, 1)
  const statuses: number[] = []
  for (let n = 0; n < 10; n++) statuses.push((await send(api, '1.0.0.4')).status)
  t.strictSame(statuses, [200, ...Array(9).fill(429)])
  const { rows } = await world.pool.pg.query(`SELECT points FROM rate_limits WHERE key = 'send:1.0.0.4'`)
  t.strictSame(rows, [{ points: 1 }])
})

t.test('the limit is per client address, and per /64 network for IPv6', async t => {
  const api = await openApi(t, 1)
  const clients = ['1.0.0.5', '1.0.0.6', '::ffff:1.0.0.6', '2001:db8:0:1::1', '2001:db8:0:1:ffff::9', '2001:db8:0:2::1']
  const statuses: number[] = []
  for (const client of clients) statuses.push((await send(api, client)).status)
  t.strictSame(statuses, [200, 200, 429, 200, 429, 200])
})

t.test('a forged X-Forwarded-For gives no new limit, behind a proxy or without one', async t => {
  const proxied = await openApi(t, 1)
  t.match(await send(proxied, '1.0.0.7'), { status: 200 })
  t.match(await send(proxied, '9.9.9.9, 1.0.0.7'), { status: 429 })
  t.match(await send(proxied, '9.9.9.8, 1.0.0.7, 127.0.0.2'), { status: 429 })

  const bare = await openApi(t, 1, '')
  t.match(await send(bare, '9.9.9.9'), { status: 200 })
  t.match(await send(bare, '9.9.9.8'), { status: 429 })
})

t.test('only sends that pass authentication are counted, and only sends are limited', async t => {
  const api = await openApi(t, 1)
  for (const options of [{ key: null }, { key: 'mb_nonsense' }, { headers: { 'user-agent': '' } }]) {
    t.strictSame(limitOf(await send(api, '1.0.0.8', options)), [null, null, null, null])
  }
  const { body } = await send(api, '1.0.0.8', { body: email, key: account.sending_key })
  t.ok(body.id)
  t.match(await send(api, '1.0.0.8'), { status: 429 })
  const batch = { body: [email], headers: { 'x-forwarded-for': '1.0.0.8' } }
  t.match(await api.request('POST', '/api/emails/batch', batch), { status: 429, body: { name: 'rate_limit_exceeded' } })

  const headers = { 'x-forwarded-for': '1.0.0.8' }
  for (const [method, path, status] of [
    ['GET', '/api/emails', 200],
    ['GET', `/api/emails/${body.id}`, 200],
    ['POST', `/api/emails/${body.id}/cancel`, 422],
    ['POST', '/api/nothing', 404],
  ] as const) {
    const answer = await api.request(method, path, { headers })
    t.equal(answer.status, status, path)
    t.strictSame(limitOf(answer), [null, null, null, null], path)
  }
})

t.test('SENDS_PER_MINUTE=0 disables the limit', async t => {
  const api = await openApi(t, 0)
  t.match(await send(api, '1.0.0.9'), { status: 200 })
  t.strictSame(limitOf(await send(api, '1.0.0.9')), [null, null, null, null])
  const { rows } = await world.pool.pg.query(`SELECT FROM rate_limits WHERE key = 'send:1.0.0.9'`)
  t.equal(rows.length, 0)
})

t.test('each process keeps the limit by itself while Postgres cannot count', async t => {
  const lines: string[] = []
  const api = await openApi(t, 1, undefined, createLog('warn', { write: line => void lines.push(line) }))
  await world.pool.transaction(async tx => {
    await tx.run(sql.unsafe`LOCK TABLE rate_limits`)
    const first = await send(api, '1.0.0.10')
    shows(t, first, { status: 200 })
    shows(t, limitOf(first), ['1', '1;w=60', '0', /^(60|5\d)$/])
    shows(t, await send(api, '1.0.0.10'), { status: 429 })
  })
  // An error of Postgres would mean that the process waited until Postgres itself gave up, after 3 s.
  shows(t, JSON.parse(lines[0] as string), {
    msg: 'without Postgres, each process counts its own sends',
    err: { type: 'LostConnectionError', message: /Query read timeout/ },
  })
})
