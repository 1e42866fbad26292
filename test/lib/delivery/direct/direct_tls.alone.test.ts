import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { StsPolicy } from '#lib/delivery/direct/mta_sts.ts'
import { publishMx } from '#test/support/dns/mail_hosts.ts'
import { shows } from '#test/support/shows.ts'
import { openDirect, PATIENT, startPolicies } from '#test/support/smtp/direct.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { CERTIFICATE, KEY, trustCertificate } from '#test/support/tls/certificate.ts'

const world = await openDirect(t, {}, PATIENT)
const { zone, hosts, send } = world
const { served, kept, start } = await startPolicies(t, world)
const BROKEN_EHLO = '250-sink\r\n250 STARTTLS'
const POLICY = 'version: STSv1\nmode: enforce\nmax_age: 604800\nmx: mx.secure.acme.com\n'

/** Hosts with STARTTLS and a self-signed certificate, and one whose certificate is valid for names below secure.acme.com. */
const sessions: string[] = []
const note = (session: { secure: boolean; servername?: unknown }) => {
  sessions.push(session.secure ? `TLS to ${session.servername}` : 'in the clear')
}
const onMailFrom = (_address: unknown, session: never, callback: () => void) => {
  note(session)
  callback()
}
await startInbox(t, { host: '127.0.0.64', port: hosts.port, starttls: true, onMailFrom })
await startInbox(t, { host: '127.0.0.65', port: hosts.port, starttls: true, onMailFrom, key: KEY, cert: CERTIFICATE })
const plain = await hosts.start(70)
const refusing = await hosts.start(71, { ehlo: BROKEN_EHLO, starttls: '454 4.7.0 TLS not available' })
const broken = await hosts.start(72, { ehlo: BROKEN_EHLO, starttls: '220 Go ahead' })
for (const [domain, n] of Object.entries({ 'none.com': 64, 'plain.com': 70, 'refusing.com': 71, 'broken.com': 72 })) {
  publishMx(zone, domain, n)
}

t.test('mail goes over TLS with any certificate, and in plain text if there is no TLS', async t => {
  const transport = world.transport()
  sessions.splice(0)
  shows(t, await send(transport, 'ann@none.com'), { outcome: 'delivered' })
  t.strictSame(sessions, ['TLS to mx.none.com'])
  shows(t, await send(transport, 'ann@plain.com'), { outcome: 'delivered' })
  for (const [domain, sink] of Object.entries({ 'refusing.com': refusing, 'broken.com': broken })) {
    shows(t, await send(transport, `ann@${domain}`), { outcome: 'delivered' }, domain)
    t.match(sink, { connections: 2, messages: 1 }, 'once more without TLS')
  }
  transport.close()
})

t.test('a host with broken TLS is remembered for a while', async t => {
  const transport = world.transport()
  const before = broken.connections
  shows(t, await send(transport, 'ann@broken.com'), { outcome: 'delivered' })
  const late = { fence: () => sleep(50, true) } // by then the client knows that the connection is gone
  shows(t, await send(transport, 'drop-pre-dot@broken.com', late), { outcome: 'deferred' }, 'which ends the connection')
  shows(t, await send(transport, 'ann@broken.com'), { outcome: 'delivered' })
  t.equal(broken.connections, before + 3, 'TLS was tried once')
})

t.test('enforced TLS defers mail rather than sending it in plain text', async t => {
  const transport = world.transport()
  const enforced = { tls: 'enforced' } as const
  sessions.splice(0)
  shows(t, await send(transport, 'ann@none.com', enforced), { outcome: 'delivered' })
  t.strictSame(sessions, ['TLS to mx.none.com'])
  const counts = () => [plain, refusing, broken].map(({ messages }) => messages)
  const before = counts()
  for (const domain of ['plain.com', 'refusing.com', 'broken.com']) {
    const reason = new RegExp(`^TLS is required here\\. No connection to mx\\.${domain}\\[127\\.0\\.0\\.7\\d\\]: `)
    shows(t, await send(transport, `ann@${domain}`, enforced), { outcome: 'deferred', reason })
  }
  await send(transport, 'ann@plain.com')
  shows(
    t,
    await send(transport, 'ann@plain.com', enforced),
    { outcome: 'deferred' },
    'not over a kept connection either',
  )
  t.strictSame(counts(), [(before[0] ?? 0) + 1, before[1], before[2]])
})

t.test('a host whose broken TLS is remembered gets no mail that requires TLS', async t => {
  const transport = world.transport()
  shows(t, await send(transport, 'ann@broken.com'), { outcome: 'delivered' })
  const before = broken.messages
  const enforced = await send(transport, 'ann@broken.com', { tls: 'enforced' })
  shows(t, enforced, { outcome: 'deferred', reason: /^TLS is required here\. / })
  t.equal(broken.messages, before)
})

/** Sends to `secure.acme.com` with this MTA-STS policy and these servers. */
async function trySts(t: Test, policy: string, addresses: Record<string, number>) {
  zone['secure.acme.com'] = { MX: Object.keys(addresses).map((name, n) => `${n} ${name}`) }
  for (const [name, n] of Object.entries(addresses)) zone[name] = { A: [`127.0.0.${n}`] }
  zone['_mta-sts.secure.acme.com'] = { TXT: [`v=STSv1; id=${Date.now()}${Math.random()}`.replace('.', '')] }
  zone['mta-sts.secure.acme.com'] = { A: ['127.0.0.68'] }
  Object.assign(served, { text: policy, type: 'text/plain', status: 200 })
  kept.clear()
  sessions.splice(0)
  world.lines.splice(0)
  trustCertificate(t)
  const transport = world.transport({ findPolicy: start() })
  return { transport, outcome: await send(transport, 'ann@secure.acme.com') }
}

t.test('MTA-STS enforce: mail goes to hosts of the policy with a valid certificate', async t => {
  const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some(path => path.includes('mailauth'))
  t.notOk(isLoaded(), 'the parser of policies is loaded only with the first policy')
  const { outcome } = await trySts(t, POLICY, { 'mx.secure.acme.com': 65 })
  shows(t, outcome, { outcome: 'delivered' })
  t.ok(isLoaded())
  t.strictSame(sessions, ['TLS to mx.secure.acme.com'])
  shows(t, [...kept], [['secure.acme.com', { mode: 'enforce', mx: ['mx.secure.acme.com'] }]])

  const wild = POLICY.replace('mx.', '*.')
  const { outcome: next } = await trySts(t, wild, { 'mx.elsewhere.com': 64, 'other.secure.acme.com': 65 })
  shows(t, next, { outcome: 'delivered' }, 'past one that it does not name')
  t.strictSame(sessions, ['TLS to other.secure.acme.com'])
})

t.test('MTA-STS enforce: other hosts and invalid certificates are refused', async t => {
  const wrong = await trySts(t, POLICY, { 'mx.elsewhere.com': 65 })
  shows(t, wrong.outcome, { outcome: 'deferred', reason: /MTA-STS policy/ }, 'a host that it does not name')
  const unproven = await trySts(t, POLICY, { 'mx.secure.acme.com': 64 })
  shows(
    t,
    unproven.outcome,
    { outcome: 'deferred', reason: /^TLS is required here\. .*certificate/i },
    'a wrong certificate',
  )
  zone['other.com'] = { MX: ['10 mx.secure.acme.com'] }
  shows(t, await send(unproven.transport, 'ann@other.com'), { outcome: 'delivered' })
  t.strictSame(sessions, ['TLS to mx.secure.acme.com'], 'other mail to that host still goes over TLS')
  const clear = await trySts(t, POLICY, { 'mx.secure.acme.com': 70 })
  shows(t, clear.outcome, { outcome: 'deferred', reason: /^TLS is required here\. / }, 'no TLS')
  t.strictSame(sessions, [])
})

t.test('MTA-STS testing: violations are only logged', async t => {
  const testing = POLICY.replace('enforce', 'testing')
  for (const [host, n] of [
    ['mx.elsewhere.com', 65],
    ['mx.secure.acme.com', 64],
    ['mx.secure.acme.com', 70],
  ] as const) {
    shows(t, (await trySts(t, testing, { [host]: n })).outcome, { outcome: 'delivered' })
    t.match(world.lines.join(''), /"level":30.*an MTA-STS policy in testing mode/)
  }
  shows(t, (await trySts(t, testing, { 'mx.secure.acme.com': 65 })).outcome, { outcome: 'delivered' })
  t.strictSame(world.lines, [])
})

t.test('an MTA-STS policy holds until it expires, even if its host and DNS fail', async t => {
  const enforced = async (t: Test) => {
    await trySts(t, POLICY, { 'mx.secure.acme.com': 65 })
    zone['mx.secure.acme.com'] = { A: ['127.0.0.70'] }
  }
  const again = () => send(world.transport({ findPolicy: start() }), 'ann@secure.acme.com')
  await enforced(t)
  for (const trouble of ['missing', 'servfail', 'silent'] as const) {
    zone['_mta-sts.secure.acme.com'] = trouble
    shows(t, await again(), { outcome: 'deferred', reason: /TLS is required/ }, trouble)
  }
  zone['_mta-sts.secure.acme.com'] = { TXT: ['v=STSv1; id=another'] }
  for (const change of [{ status: 500 }, { status: 302 }, { type: 'text/html' }, { text: 'x'.repeat(70_000) }]) {
    Object.assign(served, { text: POLICY.replace('enforce', 'none'), type: 'text/plain', status: 200 }, change)
    shows(t, await again(), { outcome: 'deferred', reason: /TLS is required/ }, JSON.stringify(change).slice(0, 40))
  }
  zone['mta-sts.secure.acme.com'] = 'missing'
  shows(t, await again(), { outcome: 'deferred', reason: /TLS is required/ }, 'without its host')

  const policy = kept.get('secure.acme.com') as StsPolicy
  kept.set('secure.acme.com', { ...policy, expires_at: new Date(Date.now() - 1) })
  shows(t, await again(), { outcome: 'delivered' }, 'once it has expired')
})

t.test('an MTA-STS policy that could never be fetched requires nothing', async t => {
  for (const change of [{ status: 404 }, { type: 'text/html' }, { text: 'mode: enforce' }]) {
    await trySts(t, POLICY, { 'mx.secure.acme.com': 70 })
    kept.clear()
    Object.assign(served, change)
    const outcome = await send(world.transport({ findPolicy: start() }), 'ann@secure.acme.com')
    shows(t, outcome, { outcome: 'delivered' }, JSON.stringify(change))
  }
})

t.test('an MTA-STS policy is fetched once until its id changes or it expires within a day', async t => {
  const { transport } = await trySts(t, POLICY, { 'mx.secure.acme.com': 65 })
  const before = served.requests
  await send(transport, 'ann@secure.acme.com')
  await start()('secure.acme.com')
  t.equal(served.requests, before, 'also by the next process')
  const policy = kept.get('secure.acme.com') as StsPolicy
  for (const [hours, fetched] of [
    [25, 0],
    [23, 1],
  ] as const) {
    kept.set('secure.acme.com', { ...policy, expires_at: new Date(Date.now() + hours * 3_600_000) })
    await start()('secure.acme.com')
    t.equal(served.requests, before + fetched, `${hours} hours before it expires`)
  }
  zone['_mta-sts.secure.acme.com'] = { TXT: ['v=STSv1; id=next'] }
  t.match(await start()('secure.acme.com'), { policy_id: 'next' })
  t.equal(served.requests, before + 2)
})

t.test('an MTA-STS policy with max_age 0 is not fetched for each message', async t => {
  const { transport, outcome } = await trySts(t, POLICY.replace('604800', '0'), { 'mx.secure.acme.com': 65 })
  shows(t, outcome, { outcome: 'delivered' })
  const before = served.requests
  for (let n = 0; n < 3; n++) await send(transport, 'ann@secure.acme.com')
  t.equal(served.requests, before)
})

t.test('an MTA-STS policy applies although it cannot be stored', async t => {
  await trySts(t, POLICY, { 'mx.secure.acme.com': 70 })
  kept.clear()
  kept.set = () => {
    throw new Error('the database is away')
  }
  t.teardown(() => Reflect.deleteProperty(kept, 'set'))
  shows(t, await start()('secure.acme.com'), { mode: 'enforce', mx: ['mx.secure.acme.com'] })
  t.strictSame([...kept], [])
})

t.test('a hundred patterns of an MTA-STS policy are stored, and only names', async t => {
  const many = Array.from({ length: 120 }, (_, n) => `mx${n}.acme.com`)
  const lines = ['<b>.acme.com', 'a b.com', `${'x'.repeat(256)}`, '*.acme.com', ...many].map(name => `mx: ${name}\n`)
  await trySts(t, POLICY.replace(/mx: .*\n/, lines.join('')), { 'mx1.acme.com': 65 })
  t.strictSame(kept.get('secure.acme.com')?.mx, ['*.acme.com', ...many.slice(0, 99)])
})
