import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { parseNetworks } from '../../lib/client_address.ts'
import { type FetchPolicy, fetchSafely, whyNotFetchable } from '../../lib/fetch_safely.ts'
import { ALLOWED, FORBIDDEN, failureOf, policyOf, startServer } from '../fetching.ts'
import { startNameServer } from '../name_server.ts'

const LIMITS = { max_bytes: 1000, deadline_ms: 10_000 }
const UNREACHABLE = 'The URL could not be fetched.'

/** Each of them is 127.0.0.66 or ::1 to somebody. */
const HERE = [
  '127.0.0.66',
  '127.0.0.66.',
  '127.0.66',
  '127.66',
  '2130706498',
  '0x7f000042',
  '0x7f.0.0.0x42',
  '0177.0.0.0102',
  '00000177.0.0.66',
  '017700000102',
  '%31%32%37.0.0.66',
  '①②⑦.0.0.⑥⑥',
  '127。0。0。66',
  '127．0．0．66',
  '127｡0｡0｡66',
  '[::ffff:127.0.0.66]',
  '[::ffff:7f00:42]',
  '[0:0:0:0:0:FFFF:127.0.0.66]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0::0001]',
  '[::0.0.0.1]',
]

/** What reaches other hosts of a network, or this one by another way. */
const ELSEWHERE = [
  '[::ffff:0:127.0.0.66]',
  '[::127.0.0.66]',
  '[64:ff9b::127.0.0.66]',
  '[64:ff9b:1::127.0.0.66]',
  '[2002:7f00:42::1]',
  '[2001:0:4136:e378:8000:63bf:80ff:ffbd]',
  '[::1%25lo]',
  '[::1%lo]',
  '[::]',
  '0.0.0.0',
  '0',
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '[::ffff:a9fe:a9fe]',
  '168.63.129.16',
  '[::ffff:168.63.129.16]',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '[3fff::1]',
  '[4000::1]',
  '[5f00::1]',
  '256.0.0.1',
  '1.2.3.4.5',
  '[::1',
  '',
]

const LOCAL_NAMES = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'app.localhost',
  'ｌｏｃａｌｈｏｓｔ',
  'l%6fcalhost',
  'localhost..',
]

/** Counts what arrives at 127.0.0.66 and ::1, on one port of both. */
async function startForbidden(t: Test): Promise<{ port: number; heard: () => number }> {
  let heard = 0
  const listen = async (address: string, port: number) => {
    const server = createServer(socket => {
      heard++
      socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    }).listen(port, address)
    await once(server, 'listening')
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const port = await listen(FORBIDDEN, 0)
  await listen('::1', port)
  return { port, heard: () => heard }
}

/** A server that redirects to its query. */
const startRedirector = (t: Test) =>
  startServer(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url as string, 'http://x')
    response.writeHead(Number(pathname.slice(1)), { location: encodeURI(searchParams.get('to') as string) }).end()
  })

t.test('no spelling of a forbidden host is connected to, given or redirected to', async t => {
  const { port, heard } = await startForbidden(t)
  const redirector = await startRedirector(t)
  const policy = policyOf([port, redirector])
  const from = (status: number, to: string) => `http://${ALLOWED}:${redirector}/${status}?to=${encodeURIComponent(to)}`

  const hosts = [...HERE, ...ELSEWHERE, ...LOCAL_NAMES]
  const urls = hosts.flatMap(host => {
    const url = `http://${host}:${port}/`
    return [url, `https://${host}:${port}/`, from(302, url), from(307, url), from(308, `//${host}:${port}/`)]
  })
  t.ok(urls.length > 300, `${urls.length} cases`)
  for (const url of urls) {
    const failure = await failureOf(fetchSafely({ url, ...LIMITS, max_redirects: 3 }, policy))
    t.match(failure, { reason: UNREACHABLE, message: UNREACHABLE, is_permanent: true }, url)
  }
  t.equal(heard(), 0)

  const naive = policyOf([port], { allowed: parseNetworks('127.0.0.0/8,::1') })
  for (const host of HERE) (await fetchSafely({ url: `http://${host}:${port}/`, ...LIMITS }, naive)).close()
  t.equal(heard(), HERE.length, 'each was a way in')
})

t.test('what can be seen from a URL is refused when it is given', async t => {
  const policy = policyOf([80, 443, 8080])
  for (const host of [...HERE, ...ELSEWHERE, ...LOCAL_NAMES]) {
    t.match(whyNotFetchable(`http://${host}/`, policy), /^must be (on a public host|a URL)$/, host)
  }
  for (const [url, why] of [
    ['', 'must be a URL'],
    ['receiver.acme.com/x', 'must be a URL'],
    ['http://', 'must be a URL'],
    ['http://a b.com/', 'must be a URL'],
    ['file:///etc/passwd', 'must begin with http:// or https://'],
    ['gopher://acme.com/', 'must begin with http:// or https://'],
    ['data:text/plain,x', 'must begin with http:// or https://'],
    ['ftp://acme.com/', 'must begin with http:// or https://'],
    ['unix:/var/run/docker.sock', 'must begin with http:// or https://'],
    ['javascript:1', 'must begin with http:// or https://'],
    ['http://user@acme.com/', 'must not have a user name or password'],
    ['http://acme.com:80@10.0.0.1/', 'must not have a user name or password'],
    ['https://:pass@acme.com/', 'must not have a user name or password'],
    ...[22, 25, 5432, 6379, 0, 65535].map(port => [`http://acme.com:${port}/`, 'must be on port 80, 443 or 8080']),
  ] as const) {
    t.equal(whyNotFetchable(url as string, policy), why, url)
  }
  for (const url of [
    'http://acme.com',
    'HTTPS://ACME.com:8080/x?y#z',
    'https://bücher.example',
    'http://8.8.8.8/',
    'http://[2606:4700::1111]/',
    'http://localhost.acme.com/',
    'http://acme.com./',
  ]) {
    t.equal(whyNotFetchable(url, policy), null, url)
  }
})

t.test('a port that is not allowed is not connected to', async t => {
  let heard = 0
  const port = await startServer(t, (_, response) => response.end(String(heard++)))
  const url = `http://${ALLOWED}:${port}/`
  t.match(await failureOf(fetchSafely({ url, ...LIMITS }, policyOf([80, 443]))), { reason: UNREACHABLE })
  t.equal(heard, 0)
})

t.test('what the operator denies is denied, what he allows is allowed, and denying wins', async t => {
  const why = (host: string, allowed: string, denied: string) =>
    whyNotFetchable(`http://${host}/`, {
      ...policyOf([80]),
      allowed: parseNetworks(allowed),
      denied: parseNetworks(denied),
    })
  t.equal(why('10.1.2.3', '10.1.0.0/16', '192.0.2.1'), null)
  t.equal(why('[fd00:1::1]', 'fd00:1::/32', '192.0.2.1'), null)
  t.equal(why('[::ffff:10.1.2.3]', '10.1.0.0/16', '192.0.2.1'), null)
  t.ok(why('10.2.0.1', '10.1.0.0/16', '192.0.2.1'))
  t.ok(why('10.1.2.3', '10.1.0.0/16', '10.1.2.0/24'))
  t.ok(why('8.8.8.8', '10.1.0.0/16', '8.8.0.0/16'))
  t.ok(why('[::ffff:8.8.8.8]', '8.8.8.8', '8.8.0.0/16'))
})

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

t.test('a name that resolves to another address each time is connected to where it was looked up', async t => {
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

t.test('each hop of a redirect is looked up once', async t => {
  const receiver = await startServer(t, (request, response) => response.end(request.headers.host))
  const redirector = await startRedirector(t)
  const { resolve, asked } = await startNameServer(t, () => [ALLOWED])
  const url = `http://from.acme.com:${redirector}/302?to=http://to.acme.com:${receiver}/`
  const answer = await fetchSafely({ url, ...LIMITS, max_redirects: 1 }, policyOf([receiver, redirector], { resolve }))
  t.equal(String(await buffer(answer.body)), `to.acme.com:${receiver}`)
  t.strictSame(asked, ['from.acme.com', 'from.acme.com', 'to.acme.com', 'to.acme.com'])
})

t.test('open, closed, forbidden and unknown look the same to the caller', async t => {
  const { port: open } = await startForbidden(t)
  const closed = await startServer(t, () => {})
  const { resolve } = await startNameServer(t, name => (name === 'inside.acme.com' ? [FORBIDDEN] : []))
  const policy = policyOf([open, closed, 1], { resolve })
  const urls = [
    `http://${FORBIDDEN}:${open}/`,
    `http://${FORBIDDEN}:1/`,
    `http://${ALLOWED}:1/`,
    `http://inside.acme.com:${open}/`,
    'http://inside.acme.com:1/',
    `http://nowhere.acme.com:${open}/`,
  ]
  const took = new Map(urls.map(url => [url, [] as number[]]))
  for (let round = 0; round < 21; round++) {
    for (const url of urls) {
      const from = performance.now()
      t.match(await failureOf(fetchSafely({ url, ...LIMITS }, policy)), { reason: UNREACHABLE, message: UNREACHABLE })
      took.get(url)?.push(performance.now() - from)
    }
  }
  const medians = Array.from(took.values(), times => times.sort((a, b) => a - b)[10] as number)
  t.ok(Math.max(...medians) - Math.min(...medians) < 50, medians.map(ms => ms.toFixed(1)).join(' '))
})
