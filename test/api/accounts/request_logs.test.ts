import t from 'tap'
import { startServer } from '#api/server.ts'
import { generateApiKey } from '#lib/api_key.ts'
import { now } from '#lib/clock.ts'
import { createLog } from '#lib/log.ts'
import { sql } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { findFreePort } from '#test/support/free_port.ts'
import { readLogs } from '#test/support/request_log.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const api = await startApi(t, world, '')
const emailOf = (account: { domain: string }) => ({ from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' })

t.test('a request is logged with its request and response bodies', async t => {
  const account = await newAccount(world)
  const { key } = account
  const body = { ...emailOf(account), html: '<p>Hi</p>' }
  const sent = await api.request('POST', '/api//emails?x=1', { key, body, headers: { 'user-agent': 'curl/8' } })
  const [log] = await readLogs(pool, account, 1)
  t.match(log, { method: 'POST', endpoint: '/emails', response_status: 200, user_agent: 'curl/8' })
  t.equal(JSON.stringify(log?.request_body), JSON.stringify(body), 'in the order in which it was sent')
  t.strictSame(log?.response_body, sent.body)
  const age = now().getTime() - Number(log?.created_at)
  t.ok(Math.abs(age) < 60_000, `${age} ms`) // another server of this process may set its clock meanwhile
})

t.test('failed requests and unknown routes are logged with their error', async t => {
  const account = await newAccount(world)
  const { key } = account
  const requests = [
    { method: 'GET', path: '/emails/1', status: 404 },
    { method: 'DELETE', path: '/nothing', status: 404 },
    { method: 'POST', path: '/emails', status: 422, body: { subject: 'Hi' } },
    { method: 'POST', path: '/emails', status: 422, raw: '{' },
    { method: 'POST', path: '/api-keys', status: 403, body: { name: 'mine' } },
    { method: 'GET', path: '/emails', status: 401, key: account.sending_key },
    { method: 'DELETE', path: '/logs/1', status: 404 },
  ]
  const answers = []
  for (const { method, path, status: _, ...options } of requests) {
    answers.push(await api.request(method, `/api${path}`, { key, ...options }))
  }
  const logs = await readLogs(pool, account, requests.length)
  for (const [n, { method, path, status, body = null }] of requests.entries()) {
    const log = logs.at(-1 - n)
    t.match(log, { method, endpoint: path, response_status: status })
    t.strictSame(log?.response_body, answers[n]?.body)
    const kept = method === 'POST' && path === '/emails' ? body : null // other routes respond before they read a body
    t.strictSame(log?.request_body, kept)
  }
})

t.test('an unexpected error is logged as a 500', async t => {
  const account = await newAccount(world)
  await api.request('GET', '/api/emails', { key: account.key })
  await pool.pg.query('ALTER TABLE emails RENAME TO gone')
  await api.request('GET', '/api/emails', { key: account.key })
  await pool.pg.query('ALTER TABLE gone RENAME TO emails')
  const [log] = await readLogs(pool, account, 2)
  t.match(log, { response_status: 500, response_body: { name: 'internal_server_error' } })
})

t.test('GET /logs, invalid keys and paths outside the API are not logged', async t => {
  const account = await newAccount(world)
  const { key } = account
  for (const path of ['/logs', '/logs/', '//logs', '/LOGS/1', '/logs/x', '/logs?limit=0']) {
    await api.request('GET', `/api${path}`, { key })
  }
  await api.request('HEAD', '/api/logs', { key })
  await api.request('GET', '/healthz', { key })
  await api.request('GET', '/api/emails', { key, headers: { 'user-agent': '' } })
  for (const none of [null, 'mb_x', generateApiKey()]) await api.request('GET', '/api/emails', { key: none })
  await api.request('GET', '/api/logsx', { key })
  const logs = await readLogs(pool, account, 1)
  shows(t, logs, [{ endpoint: '/logsx' }])
  const { rows } = await pool.pg.query(`SELECT FROM logs WHERE endpoint ILIKE '/logs%' AND method <> 'DELETE'`)
  t.equal(rows.length, 1)
})

t.test('the logs table has no key, secret, password or file content', async t => {
  const account = await newAccount(world)
  const canary = 'canary7261'
  const content = Buffer.from(canary.repeat(100)).toString('base64')
  const body = {
    ...emailOf(account),
    attachments: [{ filename: 'a.txt', content }],
    headers: { Authorization: canary, 'X-Auth-Token': canary },
    variables: { reset_token: canary, password: canary, nested: [{ apiKey: canary, secret: canary, key: canary }] },
    text: `Your key: ${account.key}`,
  }
  for (const sent of [body, [body, body], { ...body, token: canary, to: [] }]) {
    await api.request('POST', '/api/emails', { key: account.key, body: sent })
  }
  await api.request('POST', `/api/${account.key}`, {
    key: account.key,
    headers: { 'user-agent': `curl ${account.key}` },
  })
  await readLogs(pool, account, 4)
  const { rows } = await pool.pg.query('SELECT l::text AS row FROM logs l WHERE account_id = $1', [account.id])
  const text = rows.map(({ row }) => row).join('\n')
  t.match(text, '[redacted]')
  t.match(text, /size"+:1000/)
  for (const secret of [canary, content.slice(0, 40), account.key, account.key.slice(8, 40)]) t.notMatch(text, secret)
})

t.test('a large body is clipped to 64 KB', async t => {
  const account = await newAccount(world)
  const body = { ...emailOf(account), to: Array(9_000).fill('bob@b.com'), html: 'é'.repeat(1_000_000) }
  await api.request('POST', '/api/emails', { key: account.key, body })
  await readLogs(pool, account, 1)
  const { rows } = await pool.pg.query('SELECT octet_length(request_body::text) AS n FROM logs WHERE account_id = $1', [
    account.id,
  ])
  t.ok(rows[0].n > 60_000 && rows[0].n <= 65_536, rows[0].n)
})

t.test('a request is served while the log is locked, and logged afterwards', async t => {
  const account = await newAccount(world)
  await pool.transaction(async tx => {
    await tx.run(sql.unsafe`LOCK TABLE logs`)
    const waits = sql.unsafe`
      SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE d.datname = current_database() AND l.relation = 'logs'::regclass AND NOT l.granted
    `
    t.match(await api.request('GET', '/api/emails', { key: account.key }), { status: 200 })
    await waitUntil(() => tx.run(waits), 'the log waits for the lock')
    t.match(await api.request('GET', '/api/emails', { key: account.key }), { status: 200 })
  })
  t.equal((await readLogs(pool, account, 2)).length, 2)
})

t.test('a log row that Postgres refuses is reported, and no other is lost', async t => {
  const account = await newAccount(world)
  const lines: string[] = []
  const log = createLog('warn', { write: line => void lines.push(line) })
  const other = await startApi(t, { ...world, log }, account.key)
  await pool.pg.query(`ALTER TABLE logs ADD CONSTRAINT refuse CHECK (endpoint <> '/refused') NOT VALID`)
  const paths = ['/a', '/b', '/refused', '/c', '/d']
  await Promise.all(paths.map(path => other.request('GET', `/api${path}`)))
  const logs = await readLogs(pool, account, 4)
  await waitUntil(() => lines.length > 0, 'a line in the process log')
  await pool.pg.query('ALTER TABLE logs DROP CONSTRAINT refuse')
  t.strictSame(logs.map(({ endpoint }) => endpoint).sort(), ['/a', '/b', '/c', '/d'])
  shows(
    t,
    lines.map(line => JSON.parse(line)),
    [{ count: 1, msg: /missing from the request log/ }],
  )
})

t.test('a process that stops has logged every request it served', async t => {
  const account = await newAccount(world)
  const port = await findFreePort()
  const server = await startServer({ ...world, config: { ...world.config, PORT: port } }, () => [])
  const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'test' }
  const ask = () => fetch(`http://127.0.0.1:${port}/api/emails`, { headers }).then(answer => answer.text())
  let answers = 0
  const asking = Array.from({ length: 4 }, async () => {
    while (await ask().catch(() => null)) answers++
  })
  await waitUntil(() => answers >= 20, '20 requests are answered')
  await server.stop()
  await Promise.all(asking)
  const { rows } = await pool.pg.query('SELECT FROM logs WHERE account_id = $1', [account.id])
  t.equal(rows.length, answers)
})

t.test('LOG_RETENTION_DAYS=0 turns the request log off', async t => {
  const account = await newAccount(world)
  const config = { ...world.config, LOG_RETENTION_DAYS: 0 }
  const quiet = await startApi(t, { ...world, config }, account.key)
  t.match(await quiet.request('GET', '/api/emails?limit=1'), { status: 200 })
  await api.request('GET', '/api/emails', { key: account.key })
  t.equal((await readLogs(pool, account, 1)).length, 1)
  shows(t, await quiet.request('GET', '/api/logs'), { status: 200, body: { data: [{ endpoint: '/emails' }] } })
})
