import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { download, fetchSafely } from '#lib/net/fetch_safely.ts'
import { ALLOWED, failureOf, policyOf, startServer } from '#test/support/http/fetching.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const LIMITS = { max_bytes: 100_000, deadline_ms: 20_000 }

t.test('fetchSafely returns status, headers and body of a GET', async t => {
  const port = await startServer(t, ({ method, url, headers }, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ method, url, headers }))
  })
  const answer = await fetchSafely({ url: `http://${ALLOWED}:${port}/a%20b?c=d#e`, ...LIMITS }, policyOf([port]))
  t.match(answer, { status: 200, headers: { 'content-type': 'application/json' } })
  t.strictSame(JSON.parse(String(await buffer(answer.body))), {
    method: 'GET',
    url: '/a%20b?c=d',
    headers: {
      host: `${ALLOWED}:${port}`,
      connection: 'close',
      'user-agent': 'Mailbrook',
      'accept-encoding': 'identity',
    },
  })
})

t.test('fetchSafely sends headers and body of a POST unchanged', async t => {
  const posted: { headers: IncomingMessage['headers']; body: string }[] = []
  const port = await startServer(t, async (request, response) => {
    posted.push({ headers: request.headers, body: String(await buffer(request)) })
    response.writeHead(201).end()
  })
  const url = `http://${ALLOWED}:${port}/hook`
  const headers = { 'Webhook-Id': 'msg_1', 'User-Agent': 'Other' }
  const body = '{"a":"ü"}'
  const answer = await fetchSafely({ url, method: 'POST', headers, body, ...LIMITS }, policyOf([port]))
  t.equal(answer.status, 201)
  t.equal(String(await buffer(answer.body)), '')
  shows(t, posted, [{ headers: { 'webhook-id': 'msg_1', 'user-agent': 'Other', 'content-length': '10' }, body }])
})

t.test('fetchSafely returns every status, download only 2xx', async t => {
  const port = await startServer(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1))).end()
  })
  for (const [status, is_permanent] of [
    [301, true],
    [304, true],
    [400, true],
    [404, true],
    [410, true],
    [408, false],
    [425, false],
    [429, false],
    [500, false],
    [503, false],
  ] as const) {
    const request = { url: `http://${ALLOWED}:${port}/${status}`, ...LIMITS }
    const answer = await fetchSafely(request, policyOf([port]))
    t.equal(answer.status, status)
    answer.close()
    const failure = await failureOf(download(request, policyOf([port])))
    t.match(failure, { reason: `The URL responded with ${status}.`, is_permanent })
  }
  for (const status of [200, 204]) {
    const answer = await download({ url: `http://${ALLOWED}:${port}/${status}`, ...LIMITS }, policyOf([port]))
    t.equal((await buffer(answer.body)).length, 0)
  }
})

t.test('redirects beyond max_redirects are an error', async t => {
  const port = await startServer(t, ({ url = '' }, response) => {
    const left = Number(url.slice(1))
    if (left === 0) response.end('there')
    else response.writeHead(302, { location: String(left - 1) }).end('away')
  })
  const request = { url: `http://${ALLOWED}:${port}/3`, ...LIMITS }
  const followed = await fetchSafely({ ...request, max_redirects: 3 }, policyOf([port]))
  t.equal(String(await buffer(followed.body)), 'there')
  const failure = await failureOf(fetchSafely({ ...request, max_redirects: 2 }, policyOf([port])))
  t.match(failure, { reason: 'The URL redirects too often.', is_permanent: true })
  const answer = await fetchSafely(request, policyOf([port]))
  t.match(answer, { status: 302, headers: { location: '2' } })
  t.equal(String(await buffer(answer.body)), 'away')
})

t.test('a redirect drops the body and the credentials of the first host', async t => {
  const seen: IncomingMessage['headers'][] = []
  const port = await startServer(t, (request, response) => {
    seen.push(request.headers)
    response.writeHead(request.url === '/' ? 307 : 200, { location: '/to', 'set-cookie': 'a=b' }).end()
  })
  const headers = { Authorization: 'Bearer x', Cookie: 'a=b', 'X-Api-Key': 'x', Accept: 'image/*', 'User-Agent': 'y' }
  const request = { url: `http://${ALLOWED}:${port}/`, headers, ...LIMITS, max_redirects: 1 }
  const answer = await fetchSafely(request, policyOf([port]))
  answer.close()
  t.equal(answer.status, 200)
  t.match(seen[0], { authorization: 'Bearer x', cookie: 'a=b', 'x-api-key': 'x' })
  t.strictSame(Object.keys(seen[1] ?? {}).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])

  const posted = await fetchSafely({ ...request, method: 'POST', body: 'secret' }, policyOf([port]))
  posted.close()
  t.equal(posted.status, 307)
  t.equal(seen.length, 3)
})

t.test('proxy variables of the environment are ignored', async t => {
  const port = await startServer(t, (_, response) => response.end('direct'))
  const before = { ...process.env }
  t.teardown(() => {
    process.env = before
  })
  for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']) process.env[name] = `http://${ALLOWED}:1`
  process.env.NODE_USE_ENV_PROXY = '1'
  const answer = await fetchSafely({ url: `http://${ALLOWED}:${port}/`, ...LIMITS }, policyOf([port]))
  t.equal(String(await buffer(answer.body)), 'direct')
})

t.test('an address that does not respond is skipped for one that does', async t => {
  const port = await startServer(t, (_, response) => response.end('here'))
  const policy = policyOf([port], { resolve: async () => ['127.0.0.4', ALLOWED] })
  policy.allowed?.addAddress('127.0.0.4')
  const answer = await fetchSafely({ url: `http://acme.com:${port}/`, ...LIMITS }, policy)
  t.equal(String(await buffer(answer.body)), 'here')
})

t.test('abort rejects with the reason of the signal, before and during the body', async t => {
  const port = await startServer(t, ({ url }, response) => {
    if (url === '/begun') response.write('x')
  })
  const isOver = new Error('stopped')
  const ask = async (path: string, signal: AbortSignal) => {
    const url = `http://${ALLOWED}:${port}${path}`
    return buffer((await fetchSafely({ url, ...LIMITS, signal }, policyOf([port]))).body)
  }
  for (const path of ['/', '/begun']) {
    const controller = new AbortController()
    setTimeout(() => controller.abort(isOver), 50)
    await t.rejects(ask(path, controller.signal), isOver)
  }
  await t.rejects(ask('/', AbortSignal.abort(isOver)), isOver)
})

t.test('no connection stays open after a body is read, partly read, closed or ignored', async t => {
  let open = 0
  const port = await startServer(t, (request, response) => {
    open++
    request.socket.once('close', () => open--)
    response.writeHead(200).write('x'.repeat(1000))
    if (request.url === '/whole') response.end()
  })
  const ask = (path: string, deadline_ms = 20_000) =>
    fetchSafely({ url: `http://${ALLOWED}:${port}${path}`, ...LIMITS, deadline_ms }, policyOf([port]))
  const closed = () => waitUntil(() => open === 0, 'every connection is closed')
  const { close } = await ask('/')
  close()
  t.ok(await closed(), 'closed')
  for await (const _ of (await ask('/')).body) break
  t.ok(await closed(), 'read in part')
  await buffer((await ask('/whole')).body)
  t.ok(await closed(), 'read whole')
  await ask('/', 200)
  t.ok(await closed(), 'not read, at the deadline')
})
