import t from 'tap'
import { readConfig } from '#lib/config.ts'
import { parseNetworks } from '#lib/net/client_address.ts'
import { fetchPolicy, fetchSafely, findUrlFault } from '#lib/net/fetch_safely.ts'
import { startNameServer } from '#test/support/dns/name_server.ts'
import {
  ALLOWED,
  FORBIDDEN,
  failureOf,
  HAS_IPV6,
  policyOf,
  startForbidden,
  startRedirector,
  startServer,
} from '#test/support/http/fetching.ts'
import { ELSEWHERE, HERE, LOCAL_NAMES } from '#test/support/http/hostile_hosts.ts'

const LIMITS = { max_bytes: 1000, deadline_ms: 10_000 }
const UNREACHABLE = 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.'

t.test('forbidden hosts are not connected to in any spelling, given or by redirect', async t => {
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
  const ways = HERE.map(host => new URL(`http://${host}:${port}/`)).filter(url => HAS_IPV6 || url.hostname !== '[::1]')
  for (const { href } of ways) (await fetchSafely({ url: href, ...LIMITS }, naive)).close()
  t.equal(heard(), ways.length, 'without the check each would connect')
})

t.test('a forbidden URL is refused when it is given, if it shows', async t => {
  const policy = policyOf([80, 443, 8080])
  for (const host of [...HERE, ...ELSEWHERE, ...LOCAL_NAMES]) {
    t.match(
      findUrlFault(`http://${host}/`, policy),
      /^must be (on a public host, or on one that .* \(FETCH_ALLOW\)|a URL)$/,
      host,
    )
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
    t.equal(findUrlFault(url as string, policy), why, url)
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
    t.equal(findUrlFault(url, policy), null, url)
  }
})

t.test('ports that are not allowed are not connected to', async t => {
  let heard = 0
  const port = await startServer(t, (_, response) => response.end(String(heard++)))
  const url = `http://${ALLOWED}:${port}/`
  t.match(await failureOf(fetchSafely({ url, ...LIMITS }, policyOf([80, 443]))), { reason: UNREACHABLE })
  t.equal(heard, 0)
})

t.test('FETCH_ALLOW adds networks, FETCH_DENY removes them, and FETCH_DENY wins', async t => {
  const why = (host: string, FETCH_ALLOW: string, FETCH_DENY: string) =>
    findUrlFault(`http://${host}/`, fetchPolicy(readConfig({ FETCH_ALLOW, FETCH_DENY })))
  t.ok(why('10.1.2.3', '', ''))
  t.equal(why('10.1.2.3', '10.1.0.0/16', ''), null)
  t.equal(why('[fd00:1::1]', 'fd00:1::/32', ''), null)
  t.equal(why('[::ffff:10.1.2.3]', '10.1.0.0/16', ''), null)
  t.ok(why('10.2.0.1', '10.1.0.0/16', ''))
  t.equal(why('168.63.129.16', '168.63.129.16', ''), null)
  t.ok(why('10.1.2.3', '10.1.0.0/16', '10.1.2.0/24'))
  t.ok(why('8.8.8.8', '', '8.8.0.0/16'))
  t.ok(why('[::ffff:8.8.8.8]', '8.8.8.8', '8.8.0.0/16'))
})

t.test('open, closed, forbidden and unknown ports look the same to the caller', async t => {
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
  // The time itself would tell the caller which ports are open.
  const medians = Array.from(took.values(), times => times.sort((a, b) => a - b)[10] as number)
  t.ok(Math.max(...medians) - Math.min(...medians) < 50, medians.map(ms => ms.toFixed(1)).join(' '))
})
