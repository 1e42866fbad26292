import { once } from 'node:events'
import { createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { type FetchPolicy, fetchSafely } from '#lib/net/fetch_safely.ts'
import { startNameServer } from '#test/support/dns/name_server.ts'
import {
  ALLOWED,
  FORBIDDEN,
  failureOf,
  policyOf,
  startForbidden,
  startRedirector,
  startServer,
} from '#test/support/http/fetching.ts'

const LIMITS = { max_bytes: 1000, deadline_ms: 10_000 }
const UNREACHABLE = 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.'

t.test('a name is refused when any of its addresses is forbidden', async t => {
  const { port, heard } = await startForbidden(t)
  let received = 0
  const receiver = await startServer(t, (_, response) => response.end(String(received++)))
  const addresses = [
    '127.0.0.66',
    '::1',
    '::ffff:127.0.0.66',
    '10.0.0.1',
    '169.254.169.254',
    '168.63.129.16',
    'fd00::1',
  ]
  const { resolve, asked } = await startNameServer(t, name => {
    const [order, index] = name.split('.')
    const address = addresses[Number(index)] as string
    return { alone: [address], first: [address, ALLOWED], last: [ALLOWED, address] }[order as string] ?? []
  })
  const policy = policyOf([port, receiver], { resolve })
  for (const order of ['alone', 'first', 'last']) {
    for (const index of addresses.keys()) {
      for (const to of [port, receiver]) {
        const url = `http://${order}.${index}.acme.com:${to}/`
        const failure = await failureOf(fetchSafely({ url, ...LIMITS }, policy))
        t.match(failure, { reason: UNREACHABLE, is_permanent: true, detail: /which is not allowed$/ }, url)
      }
    }
  }
  t.equal(asked.length, 2 * 2 * 3 * addresses.length)
  t.equal(heard() + received, 0)
})

t.test('the connection goes to the address that was checked (DNS rebinding)', async t => {
  let asks = 0
  const { port, heard } = await startForbidden(t)
  const resolve = async () => [asks++ % 2 === 0 ? ALLOWED : FORBIDDEN]
  const policy: FetchPolicy = policyOf([port], { resolve })
  const server = createServer(socket => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')).listen(
    port,
    ALLOWED,
  )
  await once(server, 'listening')
  t.teardown(() => server.close())

  const outcomes: string[] = []
  for (let n = 0; n < 20; n++) {
    const fetched = fetchSafely({ url: `http://rebind.acme.com:${port}/`, ...LIMITS }, policy)
    outcomes.push(await fetched.then(async ({ body }) => String(await buffer(body))).catch(error => error.message))
  }
  t.strictSame(outcomes, Array(10).fill(['ok', UNREACHABLE]).flat())
  t.equal(asks, 20)
  t.equal(heard(), 0)
})

t.test('each host of a redirect is looked up once', async t => {
  const receiver = await startServer(t, (request, response) => response.end(request.headers.host))
  const redirector = await startRedirector(t)
  const { resolve, asked } = await startNameServer(t, () => [ALLOWED])
  const url = `http://from.acme.com:${redirector}/302?to=http://to.acme.com:${receiver}/`
  const answer = await fetchSafely({ url, ...LIMITS, max_redirects: 1 }, policyOf([receiver, redirector], { resolve }))
  t.equal(String(await buffer(answer.body)), `to.acme.com:${receiver}`)
  t.strictSame(asked, ['from.acme.com', 'from.acme.com', 'to.acme.com', 'to.acme.com'])
})
