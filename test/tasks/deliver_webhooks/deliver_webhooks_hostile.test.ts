import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import t from 'tap'
import { createLog } from '#lib/log.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { ALLOWED, FORBIDDEN, startForbidden, startRedirector } from '#test/support/http/fetching.ts'
import { ELSEWHERE, HERE, LOCAL_NAMES } from '#test/support/http/hostile_hosts.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import {
  announce,
  countDeliveries,
  insertUnchecked,
  listAttempts,
  readWebhook,
  startSender,
} from '#test/support/webhooks/announced_events.ts'
import { startHostileReceiver } from '#test/support/webhooks/hostile_receiver.ts'
import { HOOK_TIMES } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const UNREACHABLE = 'The URL could not be fetched: its host does not respond, or is not public and not in FETCH_ALLOW.'

const hostile = await startHostileReceiver(t)
const { requests, sent } = hostile
const forbidden = await startForbidden(t)
const redirector = await startRedirector(t)
// At the allowed address, on the same port as the forbidden one.
const namesake = createHttpServer((request, response) => request.resume().once('end', () => response.end()))
await once(namesake.listen(forbidden.port, ALLOWED), 'listening')
t.teardown(() => {
  namesake.closeAllConnections()
  namesake.close()
})
const { server, zone } = await startZone(t)
const world = await openWorld(t, {
  FETCH_ALLOW: ALLOWED,
  FETCH_PORTS: [hostile.port, forbidden.port, redirector].join(),
  DNS_SERVERS: server,
})
const once_only = { ...HOOK_TIMES, attempt_ms: 4_000, retry_seconds: Array(6).fill(3_600) }

/** Subscribes without checking the endpoint, as if it had changed since. */
async function subscribe(endpoint: string, account_id?: string) {
  const account = account_id ?? (await newAccount(world)).id
  return { account_id: account, id: String(await insertUnchecked(world, account, endpoint)) }
}

const attempted = async (id: string, count: number) => (await listAttempts(world, id)).length >= count

t.test('an attempt ends in time, once, and stores little of a hostile response', async t => {
  startSender(t, world, once_only)
  const failed = { status: null, error: UNREACHABLE }
  const late = { status: null, error: 'The server did not respond in time.' }
  const expected: Record<string, object> = {
    closes: failed,
    resets: failed,
    stops_in_headers: failed,
    is_no_http: failed,
    upgrades: failed,
    has_huge_headers: failed,
    has_many_headers: failed,
    hangs: late,
    drips_headers: late,
    drips_interim: late,
    drips_body: { status: 200, error: null, response: /^x*$/ },
    is_endless: { status: 200, error: null, response: 'x'.repeat(1_024) },
    is_large: { status: 500, error: 'The endpoint responded with 500.', response: 'x'.repeat(1_024) },
    is_no_gzip: { status: 200, error: null, response: null },
    is_a_bomb: { status: 200, error: null, response: null },
    lies_about_length: { status: 200, error: null, response: String },
    says_nul: { status: 200, error: null, response: '\uFFFD\uFFFD\uFFFDx' },
    asks_twice: { status: 503, error: 'The endpoint responded with 503.' },
    answers_twice: { status: 200, error: null, response: 'ok' },
    loops: { status: 302, error: 'The endpoint responded with 302; redirects are not followed.' },
  }
  const { account_id } = await newAccount(world).then(({ id }) => ({ account_id: id }))
  const ids = new Map<string, string>()
  for (const name of Object.keys(expected)) {
    ids.set(name, (await subscribe(`http://${ALLOWED}:${hostile.port}/${name}`, account_id)).id)
  }
  await announce(world, account_id, 1)
  for (const [name, id] of ids) {
    await waitUntil(() => attempted(id, 1), name)
    const attempts = await listAttempts(world, id)
    shows(t, attempts, [expected[name]], name)
    // The time limit of an attempt is the promise.
    t.ok(
      attempts.every(({ ms }) => ms < 10_000),
      `${name} took ${attempts[0]?.ms} ms`,
    )
    t.equal(requests[name], 1, `${name} was asked once`)
    t.ok((sent[name]?.bytes ?? 0) < 20_000_000, `${name} has sent ${sent[name]?.bytes} bytes`)
  }
})

t.test('a kept connection that the server closed costs no attempt', async t => {
  const sender = startSender(t, world, once_only)
  const { account_id, id } = await subscribe(`http://${ALLOWED}:${hostile.port}/closes_kept`)
  for (const n of [1, 2, 3]) {
    await announce(world, account_id, 1)
    await waitUntil(() => attempted(id, n), `attempt ${n}`)
    await sender.idle()
  }
  t.match(await listAttempts(world, id), Array(3).fill({ status: 200, error: null, attempt: 1 }))
  t.equal(requests.closes_kept, 5, 'the second and the third were sent again, each on a new connection')
})

t.test('forbidden hosts are not connected to in any spelling, by redirects or DNS', async t => {
  const { port } = forbidden
  // There are hundreds at once, and none of them hangs.
  const sender = startSender(t, world, { ...once_only, attempt_ms: 15_000 })
  const from = (status: number, to: string) => `http://${ALLOWED}:${redirector}/${status}?to=${encodeURIComponent(to)}`
  const direct = [...HERE, ...ELSEWHERE, ...LOCAL_NAMES].flatMap(host => [
    `http://${host}:${port}/`,
    `https://${host}:${port}/`,
  ])
  const redirected = HERE.flatMap(host =>
    [301, 302, 303, 307, 308].map(status => from(status, `http://${host}:${port}/`)),
  )
  const addresses = [FORBIDDEN, '::1', '10.0.0.1', '169.254.169.254', 'fd00::1', '::ffff:127.0.0.66']
  const named = addresses.flatMap((address, n) => {
    const own = address.includes(':') ? { AAAA: [address] } : { A: [address] }
    zone[`alone${n}.acme.com`] = own
    zone[`mixed${n}.acme.com`] = { ...own, A: [ALLOWED, ...(own.A ?? [])] }
    zone[`alias${n}.acme.com`] = { CNAME: [`alone${n}.acme.com`] }
    return ['alone', 'mixed', 'alias'].map(name => `http://${name}${n}.acme.com:${port}/`)
  })
  const others = [22, 25, 5432, 6379].map(other => `http://${ALLOWED}:${other}/`)
  const schemes = [
    'file:///etc/passwd',
    'gopher://acme.com/',
    'data:text/plain,x',
    `http://x@${ALLOWED}:${hostile.port}/closes`,
  ]
  const heard = requests.closes
  const urls = [...direct, ...named, ...others, ...schemes]
  const account = await newAccount(world)
  for (const url of [...urls, ...redirected]) await subscribe(url, account.id)
  t.ok(urls.length + redirected.length > 280, `${urls.length + redirected.length} cases`)

  await announce(world, account.id, 1)
  const { rows: counted } = await world.pool.pg.query('SELECT count(*)::int FROM webhooks WHERE account_id = $1', [
    account.id,
  ])
  t.equal(counted[0].count, urls.length + redirected.length)
  const listed = () =>
    world.pool.pg.query(
      `SELECT w.endpoint, a.status, a.error FROM webhooks w JOIN webhook_attempts a ON a.account_id = w.account_id AND a.webhook_id = w.id
       WHERE w.account_id = $1`,
      [account.id],
    )
  await waitUntil(async () => (await listed()).rows.length === counted[0].count, 'an attempt at each')
  await sender.idle()
  const isRedirect = (endpoint: string) => redirected.includes(endpoint)
  for (const { endpoint, status, error } of (await listed()).rows) {
    if (isRedirect(endpoint)) t.match({ status, error }, { status: Number, error: /redirects are not followed\.$/ })
    else t.match({ status, error }, { status: null, error: UNREACHABLE }, endpoint)
  }
  t.equal(forbidden.heard(), 0)
  t.equal(requests.closes, heard)
})

t.test('a host name is checked again for each connection', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => void lines.push(line) })
  const sender = startSender(t, { ...world, log }, once_only)
  zone['moves.acme.com'] = { A: [ALLOWED] }
  const { account_id, id } = await subscribe(`http://moves.acme.com:${forbidden.port}/`)
  const deliver = async (n: number) => {
    await announce(world, account_id, 1)
    await waitUntil(() => attempted(id, n), `attempt ${n}`)
    await sender.idle()
    return (await listAttempts(world, id)).at(-1)
  }
  t.match(await deliver(1), { status: 200 })
  zone['moves.acme.com'] = { A: [FORBIDDEN] }
  t.match(await deliver(2), { status: 200 }, 'by the connection that was kept')
  namesake.closeAllConnections()
  t.match(await deliver(3), { status: null, error: UNREACHABLE })
  const detail = `moves.acme.com is at ${FORBIDDEN}, which is not allowed`
  shows(
    t,
    lines.map(line => JSON.parse(line)),
    [{ webhook_id: Number(id), detail }],
    'the log names the reason',
  )
  zone['moves.acme.com'] = { A: [ALLOWED, FORBIDDEN] }
  t.match(await deliver(4), { status: null, error: UNREACHABLE })
  zone['moves.acme.com'] = { A: [ALLOWED] }
  t.match(await deliver(5), { status: 200 })
  t.equal(forbidden.heard(), 0)
  t.match(await readWebhook(world, id), { failure_count: 0 })
  t.match(await countDeliveries(world, id), { success: 3, pending: 2 })
})

t.test('the connection goes to the address that was checked (DNS rebinding)', async t => {
  const sender = startSender(t, world, once_only)
  const { account_id, id } = await subscribe(`http://rebinds.acme.com:${forbidden.port}/`)
  let asked = 0
  Object.defineProperty(zone, 'rebinds.acme.com', {
    get: () => ({ A: [Math.floor(asked++ / 2) % 2 === 0 ? ALLOWED : FORBIDDEN] }),
  })
  for (let n = 1; n <= 8; n++) {
    await announce(world, account_id, 1)
    await waitUntil(() => attempted(id, n), `attempt ${n}`)
    await sender.idle()
    namesake.closeAllConnections()
  }
  const statuses = (await listAttempts(world, id)).map(({ status }) => status)
  t.strictSame(statuses, Array(4).fill([200, null]).flat())
  t.equal(forbidden.heard(), 0)
})
