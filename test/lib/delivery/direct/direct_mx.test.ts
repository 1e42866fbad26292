import { networkInterfaces } from 'node:os'
import t from 'tap'
import { findMailServers } from '#lib/delivery/direct/mail_servers.ts'
import { isOwnAddress } from '#lib/delivery/direct/own_address.ts'
import { parseNetworks } from '#lib/net/client_address.ts'
import { MAIL_HOSTS } from '#test/support/dns/mail_hosts.ts'
import type { Zone } from '#test/support/dns/name_server.ts'
import { shows } from '#test/support/shows.ts'
import { openDirect } from '#test/support/smtp/direct.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { standStill } from '#test/support/stand_still.ts'

/** The servers at 64 and 65 accept mail, 71 never finishes its greeting, and nothing listens on 70. */
const A = { first: '127.0.0.64', second: '127.0.0.65', gone: '127.0.0.70', tarpit: '127.0.0.71' }
const FORBIDDEN = '127.0.0.66'

const world = await openDirect(t)
const { zone, hosts, asked } = world
const first = await hosts.start(64)
const second = await hosts.start(65)
const tarpit = await hosts.start(71, { greeting: 'dribble' })

/** Returns the outcome of mail for a domain with these records, and how many messages the first and second server got. */
async function tryZone(records: Zone, options = {}) {
  for (const name of Object.keys(zone)) delete zone[name]
  Object.assign(zone, records)
  asked.splice(0)
  const before = [first.messages, second.messages]
  const transport = world.transport(options)
  const outcome = await world.send(transport, 'ann@to.com')
  return { outcome, taken: [first.messages - (before[0] ?? 0), second.messages - (before[1] ?? 0)], transport }
}

const hostsAt = (...addresses: string[]) => ({
  'to.com': { MX: addresses.map((_, n) => `${10 * (n + 1)} mx${n}.to.com`) },
  ...Object.fromEntries(addresses.map((address, n) => [`mx${n}.to.com`, { A: [address] }])),
})

t.test('mail goes to the MX with the lowest preference, in whatever order DNS lists them', async t => {
  const { outcome, taken } = await tryZone({
    'to.com': { MX: ['20 mx2.to.com', '10 mx1.to.com'] },
    'mx1.to.com': { A: [A.first] },
    'mx2.to.com': { A: [A.second] },
  })
  shows(t, outcome, { outcome: 'delivered', via: 'direct', reply: '250 2.0.0 Ok' })
  t.strictSame(taken, [1, 0])
})

t.test('MX hosts of equal preference share the mail', async t => {
  const { transport } = await tryZone({
    'to.com': { MX: ['10 mx1.to.com', '10 mx2.to.com'] },
    'mx1.to.com': { A: [A.first] },
    'mx2.to.com': { A: [A.second] },
  })
  const before = [first.messages, second.messages] as const
  for (let n = 0; n < 60; n++) await world.send(transport, 'ann@to.com')
  t.ok(first.messages - before[0] > 10)
  t.ok(second.messages - before[1] > 10)
  t.strictSame(
    asked.filter(question => question === 'MX to.com'),
    ['MX to.com'],
    'and DNS is asked once',
  )
})

t.test('a standstill of this process causes no timeouts', async t => {
  for (const begin_ms of [0, 2, 5, 10, 20, 40]) {
    // Longer than the deadlines of DNS (400 ms) and of connections (500 ms), which all run in this process.
    setTimeout(() => standStill(700), begin_ms)
    const { outcome } = await tryZone(hostsAt(A.first))
    t.equal(outcome.outcome, 'delivered', `after ${begin_ms} ms: ${JSON.stringify(outcome)}`)
  }
})

t.test('the next MX is tried when the first refuses, hangs or has no address', async t => {
  for (const address of [A.gone, A.tarpit]) {
    shows(t, await tryZone(hostsAt(address, A.second)), { outcome: { outcome: 'delivered' }, taken: [0, 1] })
  }
  const busy = await hosts.start(72, { greeting: '421 4.3.2 Busy' })
  shows(t, await tryZone(hostsAt('127.0.0.72', A.second)), { outcome: { outcome: 'delivered' }, taken: [0, 1] })
  t.equal(busy.connections, 1)
  const two = { 'to.com': { MX: ['10 mx.to.com'] }, 'mx.to.com': { A: [A.gone, A.second] } }
  shows(t, await tryZone(two), { outcome: { outcome: 'delivered' }, taken: [0, 1] }, 'the second of two addresses')
  for (const trouble of ['missing', 'servfail', 'silent'] as const) {
    const records = { ...hostsAt(A.first, A.second), 'mx0.to.com': trouble }
    shows(t, await tryZone(records), { outcome: { outcome: 'delivered' }, taken: [0, 1] }, trouble)
  }
})

t.test('servers are cached for seconds only if the address of one could not be looked up', async t => {
  const options = { dns: world.dns, policy: { allowed: parseNetworks(MAIL_HOSTS) }, helo_name: 'me.test' }
  for (const [trouble, unsure] of [
    ['missing', false],
    ['servfail', true],
    ['silent', true],
  ] as const) {
    Object.assign(zone, hostsAt(A.first, A.second), { 'mx0.to.com': trouble })
    const servers = [{ host: 'mx1.to.com', priority: 20, addresses: [A.second] }]
    t.strictSame(await findMailServers('to.com', options), { outcome: 'found', servers, provider: 'to.com', unsure })
  }
})

t.test('a rejected recipient is not tried at the next MX', async t => {
  for (const [local, outcome] of [
    ['perm-550', 'bounced'],
    ['tmp-451', 'deferred'],
    ['data-554', 'failed'],
  ]) {
    const { transport } = await tryZone(hostsAt(A.first, A.second))
    const before = second.connections
    t.match(await world.send(transport, `${local}@to.com`), { outcome, reply: /As you asked/ })
    t.equal(second.connections, before)
  }
})

t.test('a domain without MX is its own mail server if it has an address', async t => {
  shows(t, await tryZone({ 'to.com': { A: [A.second] } }), { outcome: { outcome: 'delivered' }, taken: [0, 1] })
  const none = { outcome: 'bounced', reply: '550 5.1.2 to.com has no mail server.' }
  t.match(await tryZone({ 'to.com': { TXT: ['x'] } }), { outcome: none })
  t.match(await tryZone({}), { outcome: none })
  t.strictSame(asked, ['MX to.com'], 'a name that does not exist has no address either')
  shows(t, await tryZone({ 'to.com': { MX: ['0 .'] } }), {
    outcome: { outcome: 'bounced', reply: '556 5.1.10 to.com accepts no mail.' },
  })
  const mixed = { 'to.com': { MX: ['0 .', '10 mx.to.com'] }, 'mx.to.com': { A: [A.first] } }
  shows(t, await tryZone(mixed), { taken: [1, 0] }, 'a null MX among others is none')
})

t.test('a DNS failure defers the email', async t => {
  for (const trouble of ['servfail', 'refused', 'silent'] as const) {
    const { outcome } = await tryZone({ 'to.com': trouble })
    shows(t, outcome, { outcome: 'deferred', reason: /^The mail servers of to\.com could not be looked up: / }, trouble)
  }
  const unknown: Zone = { 'to.com': { MX: ['10 mx.to.com'] }, 'mx.to.com': 'servfail' }
  shows(t, await tryZone(unknown), {
    outcome: { outcome: 'deferred', reason: 'The address of mx.to.com could not be looked up.' },
  })
  const loop = {
    'to.com': { MX: ['10 a.to.com'] },
    'a.to.com': { CNAME: ['b.to.com'] },
    'b.to.com': { CNAME: ['a.to.com'] },
  }
  shows(t, await tryZone(loop), { outcome: { outcome: 'deferred' } })
  const literal = { 'to.com': { MX: [`10 ${A.first}`] }, [A.first]: { A: [A.first] } }
  shows(t, await tryZone(literal), { outcome: { outcome: 'deferred' }, taken: [0, 0] }, 'an address is no host name')
})

t.test('mail does not go to private addresses, but to public ones of the same host', async t => {
  const forbidden = [FORBIDDEN, '10.0.0.1', '169.254.169.254', '168.63.129.16', '0.0.0.0', '100.64.0.1']
  const verdict = { outcome: 'failed', reason: 'The mail servers of to.com are at no address that mail may go to.' }
  for (const address of forbidden) {
    t.match(await tryZone(hostsAt(address)), { outcome: verdict }, address)
    t.match(await tryZone({ 'to.com': { A: [address] } }), { outcome: verdict }, `${address} of the domain itself`)
  }
  for (const address of ['::1', '::ffff:127.0.0.66', '64:ff9b::7f00:42', 'fe80::1', 'fd00::1', '2002:7f00:42::1']) {
    const records = { 'to.com': { MX: ['10 mx.to.com'] }, 'mx.to.com': { AAAA: [address] } }
    t.match(await tryZone(records), { outcome: verdict }, address)
  }
  shows(t, await tryZone(hostsAt(FORBIDDEN, A.second)), { outcome: { outcome: 'delivered' }, taken: [0, 1] })
  const both = { 'to.com': { MX: ['10 mx.to.com'] }, 'mx.to.com': { A: [FORBIDDEN, A.first], AAAA: ['::1'] } }
  shows(t, await tryZone(both), { outcome: { outcome: 'delivered' }, taken: [1, 0] })
  const denied = { policy: { allowed: parseNetworks('127.0.0.0/8'), denied: parseNetworks(A.first) } }
  shows(t, await tryZone(hostsAt(A.first), denied), { outcome: verdict, taken: [0, 0] }, 'what the operator denies')
  t.equal(hosts.heard(), 0)
})

t.test('mail does not loop back to this host or to a less preferred one', async t => {
  const options = { isOwn: (address: string) => address === '192.0.2.7' }
  const loops = { outcome: 'failed', reason: 'Mail for to.com loops back: this host is its mail server.' }
  shows(t, await tryZone(hostsAt('192.0.2.7', A.second), options), { outcome: loops, taken: [0, 0] })
  shows(t, await tryZone(hostsAt(A.first, '192.0.2.7', A.second), options), { taken: [1, 0] })
  shows(t, await tryZone(hostsAt(A.gone, '192.0.2.7', A.second), options), {
    outcome: { outcome: 'deferred', reason: /ECONNREFUSED/ },
    taken: [0, 0],
  })
  const named = { 'to.com': { MX: ['10 me.test'] }, 'me.test': { A: [A.first] } }
  shows(t, await tryZone(named), { outcome: loops, taken: [0, 0] }, 'by its name in EHLO')
  shows(t, await tryZone(named, { helo_name: 'ME.test' }), { outcome: loops, taken: [0, 0] }, 'in any case')
})

t.test('mail for a domain that this host receives mail for goes to its own SMTP port', async t => {
  const isOwn = (address: string) => address === A.second
  const options = { isOwn, port: 1, own_port: hosts.port }
  const delivered = { outcome: { outcome: 'delivered' }, taken: [0, 1] }
  shows(t, await tryZone(hostsAt(A.second), options), delivered)
  shows(t, await tryZone(hostsAt(A.second, A.first), options), delivered, 'not to a less preferred one')
  shows(t, await tryZone(hostsAt(A.second, A.first), { ...options, own_port: 1 }), {
    outcome: { outcome: 'deferred', reason: /mx0\.to\.com\[127\.0\.0\.65\].*ECONNREFUSED/ },
    taken: [0, 0],
  })
  shows(t, await tryZone(hostsAt(A.gone, A.second), options), delivered, 'if the more preferred one is down')
  shows(t, await tryZone({ 'to.com': { A: [A.second] } }, options), delivered, 'without an MX')
  const both = { 'to.com': { MX: ['10 mx.to.com'] }, 'mx.to.com': { A: [A.first, A.second] } }
  shows(t, await tryZone(both, options), delivered, 'at this address of several')
  const named = { 'to.com': { MX: ['10 me.test'] }, 'me.test': { A: [A.first] } }
  const here = await openSink(t)
  const { outcome } = await tryZone(named, { isOwn, port: 1, own_port: Number(new URL(here.url).port) })
  shows(t, outcome, { outcome: 'delivered' }, 'by its name, which resolves to the address of a router')
  t.equal(here.messages, 1)
})

t.test('isOwnAddress covers the interfaces without loopback and without allowed addresses', async t => {
  const own = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  const isLoopback = (address: string) => /^127\.|^::1$/.test(address)
  for (const { address } of own) t.equal(isOwnAddress(address, {}), !isLoopback(address), address)
  for (const address of ['127.0.0.66', '::1', '192.0.2.1', '2001:db8::1']) t.notOk(isOwnAddress(address, {}), address)
  for (const { address, family } of own) {
    const allowed = parseNetworks(`${address}/${family === 'IPv4' ? 32 : 128}`)
    if (!isLoopback(address)) t.notOk(isOwnAddress(address, { allowed }), `${address} that is allowed`)
  }
})

t.test('at most ten of a hundred hosts are tried, within the time of one attempt', async t => {
  const many = hostsAt(...Array.from({ length: 100 }, () => A.gone))
  shows(t, await tryZone(many), { outcome: { outcome: 'deferred', reason: /mx9\.to\.com\[127\.0\.0\.70\]/ } })
  t.equal(asked.filter(question => question.startsWith('A ')).length, 10)

  const before = tarpit.connections
  const { outcome } = await tryZone(hostsAt(...Array.from({ length: 10 }, () => A.tarpit)))
  t.equal(outcome.outcome, 'deferred')
  const connections = tarpit.connections - before
  t.ok(connections > 0 && connections <= 4, `${connections} connections, where an attempt has time for three`)
})

t.test('at most four addresses of a host are tried', async t => {
  const host = (...addresses: string[]) => ({ 'to.com': { MX: ['10 mx.to.com'] }, 'mx.to.com': { A: addresses } })
  const gone = [A.gone, '127.0.0.77', '127.0.0.78', '127.0.0.79']
  shows(t, await tryZone(host(...gone.slice(1), A.second)), { outcome: { outcome: 'delivered' }, taken: [0, 1] })
  shows(t, await tryZone(host(...gone, A.second)), { outcome: { outcome: 'deferred' }, taken: [0, 0] })
})

t.test('a host that never responds is skipped', async t => {
  const { transport } = await tryZone(hostsAt(A.tarpit, A.second), {
    timeouts: { connect: 200, message: 1_000, dot: 500 },
  })
  for (let n = 0; n < 4; n++) await world.send(transport, 'ann@to.com')
  const before = tarpit.connections
  shows(t, await world.send(transport, 'ann@to.com'), { outcome: 'delivered' })
  t.equal(tarpit.connections, before, 'without trying the first')
})

t.test('the address of a host that serves many domains is looked up once', async t => {
  const { transport } = await tryZone(hostsAt(A.first))
  for (let n = 0; n < 5; n++) zone[`other${n}.com`] = { MX: ['10 mx0.to.com'] }
  for (let n = 0; n < 5; n++) await world.send(transport, `ann@other${n}.com`)
  t.strictSame(asked.filter(question => question.endsWith(' mx0.to.com')).sort(), ['A mx0.to.com', 'AAAA mx0.to.com'])
})
