import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { setClock } from '#lib/clock.ts'
import { checkBaseUrl } from '#lib/doctor/base_url.ts'
import { checkBlocklists } from '#lib/doctor/blocklists.ts'
import { about, exitCode, type Finding, formatFindings, runChecks } from '#lib/doctor/finding.ts'
import { readGreeting } from '#lib/doctor/greeting.ts'
import { checkHeloName } from '#lib/doctor/helo_name.ts'
import { checkNode, judgeDisk } from '#lib/doctor/host.ts'
import { checkInbound } from '#lib/doctor/inbound.ts'
import { checkPort25 } from '#lib/doctor/port25.ts'
import { recordLine } from '#lib/doctor/record_line.ts'
import { checkRelay } from '#lib/doctor/relay.ts'
import { checkServerDomain } from '#lib/doctor/server_domain.ts'
import { findAddresses, type Site } from '#lib/doctor/site.ts'
import { siteChecks } from '#lib/doctor/site_checks.ts'
import { createDns } from '#lib/net/dns.ts'
import { reverseName } from '#lib/net/reverse_name.ts'
import { SHORT_TIMES, startZone, type Zone } from '#test/support/dns/name_server.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { certificates } from '#test/support/tls/certificates.ts'
import { testConfig } from '#test/support/world.ts'

const NAME = 'mail.acme.com'
const IPV4 = '203.0.113.5'
const IPV6 = '2001:db8::5'
const POINTER = '5.113.0.203.in-addr.arpa'

t.test('HELO_NAME must resolve to the address of this host, and back', async t => {
  const zone: Zone = { [NAME]: { A: [IPV4] }, [POINTER]: { PTR: [NAME] } }
  const site = await openSite(t, zone)
  shows(t, await checkHeloName(site), [
    { check: 'HELO_NAME', level: 'ok' },
    { check: 'PTR', level: 'ok' },
  ])

  delete zone[POINTER]
  t.match((await checkHeloName(site))[1], {
    level: 'problem',
    fix: /^5\.113\.0\.203\.in-addr\.arpa\. IN PTR mail\.acme\.com\. /,
  })
  zone[POINTER] = { PTR: ['host-5.provider.net'] }
  t.match((await checkHeloName(site))[1], { level: 'problem', fix: /^HELO_NAME=host-5\.provider\.net\nor 5\.113/ })
  zone[POINTER] = 'servfail'
  t.match((await checkHeloName(site))[1], { level: 'unknown' })
  zone[POINTER] = { PTR: [NAME] }
  zone[NAME] = { A: ['203.0.113.6'] }
  const lines = 'mail.acme.com. IN A 203.0.113.5'
  shows(t, await checkHeloName(site), [
    { level: 'problem', finding: /leads to 203\.0\.113\.6, this host is at 203\.0\.113\.5/, fix: lines },
    { level: 'problem', finding: /does not lead back/, fix: lines },
  ])
  delete zone[NAME]
  t.match((await checkHeloName(site))[0], { level: 'problem', finding: /has no address/, fix: lines })
  zone[NAME] = 'silent'
  t.match((await checkHeloName(site))[0], { level: 'unknown' })

  shows(t, await checkHeloName({ ...site, transports: [], addresses: [] }), [{ level: 'unknown' }])
  for (const HELO_NAME of ['vm', 'mail.local', '203.0.113.5', 'a_b.acme.com']) {
    const found = await checkHeloName({ ...site, transports: [], config: { ...site.config, HELO_NAME } })
    shows(t, found, [{ level: 'warning', finding: `${HELO_NAME} is not a name that receivers can look up.` }])
  }
})

t.test('reverse lookups ask DNS and ignore /etc/hosts', async t => {
  const { dns } = await openSite(t, { '1.0.0.127.in-addr.arpa': 'missing' })
  t.strictSame(await dns.names('127.0.0.1'), { outcome: 'none', exists: false })
  t.equal(reverseName('2001:db8::5'), `5.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`)
  t.equal(reverseName('::ffff:203.0.113.5'), POINTER)
})

t.test('findAddresses prefers given addresses, then interfaces, then those of the name', async t => {
  const [first, second, third] = ['93.184.216.34', '2a00:1450::5', '2a00:1450::6'] as const
  const { dns } = await openSite(t, { [NAME]: { A: [first, '10.0.0.1'], AAAA: [second] } })
  t.strictSame(await findAddresses(['198.51.100.7'], NAME, dns, [third]), ['198.51.100.7'])
  t.strictSame(await findAddresses([], NAME, dns, ['127.0.0.1', 'fe80::1', '192.168.1.2', third]), [third, first])
  t.strictSame(await findAddresses([], NAME, dns, ['172.17.0.1', '::1']), [first, second])
  t.strictSame(await findAddresses([], 'vm', dns, ['127.0.0.1']), [])
})

t.test('blocklists are checked for IPv4 and IPv6, and a refused query does not count as listed', async t => {
  const labels = '5.113.0.203'
  const zen6 = `${reverseName('2a00:1450::5').replace('.ip6.arpa', '')}.zen.spamhaus.org`
  const zone: Zone = {
    [`${labels}.zen.spamhaus.org`]: { A: ['127.0.0.2', '127.0.0.10'] },
    [`${labels}.bl.spamcop.net`]: { A: ['198.51.100.1'] },
    [`${labels}.b.barracudacentral.org`]: 'servfail',
    [zen6]: { A: ['127.255.255.254'] },
  }
  const site = { ...(await openSite(t, zone)), addresses: [IPV4, '2a00:1450::5'] }
  shows(t, await checkBlocklists(site), [
    {
      level: 'problem',
      finding: `${IPV4} is on it (127.0.0.2, 127.0.0.10).`,
      fix: /check\.spamhaus\.org.*203\.0\.113\.5/,
    },
    { level: 'unknown', finding: /makes up answers/ },
    { level: 'unknown', finding: /could not be queried/ },
    { level: 'unknown', finding: /does not serve this name server/ },
  ])
  for (const name of Object.keys(zone)) delete zone[name]
  t.strictSame(
    (await checkBlocklists(site)).map(({ level }) => level),
    ['ok', 'ok', 'ok', 'ok'],
  )
  shows(t, await checkBlocklists({ ...site, addresses: [] }), [{ level: 'unknown', fix: /--address/ }])
})

t.test('SERVER_DOMAIN must allow this host, and its subdomains must resolve', async t => {
  const zone: Zone = {
    [NAME]: { TXT: ['v=spf1 include:spf.acme.com ~all'] },
    'spf.acme.com': { TXT: ['v=spf1 a:out.acme.com -all'] },
    'out.acme.com': { A: [IPV4] },
    [`inbound.${NAME}`]: { A: [IPV4] },
    [`feedback.${NAME}`]: { A: [IPV4] },
    [`links.${NAME}`]: { AAAA: [IPV6] },
  }
  const site = await openSite(t, zone)
  t.strictSame(
    (await checkServerDomain(site)).map(({ level }) => level),
    ['ok', 'ok', 'ok', 'ok'],
  )

  zone['out.acme.com'] = { A: ['203.0.113.9'] }
  const fix = `${NAME}. IN TXT "v=spf1 ip4:203.0.113.5 include:spf.acme.com ~all"`
  t.match((await checkServerDomain(site))[0], {
    level: 'problem',
    finding: /has the result softfail for 203\.0\.113\.5/,
    fix,
  })
  zone[NAME] = 'missing'
  zone[`feedback.${NAME}`] = 'missing'
  zone[`links.${NAME}`] = 'silent'
  shows(t, await checkServerDomain({ ...site, addresses: [IPV4, IPV6] }), [
    { level: 'problem', fix: `${NAME}. IN TXT "v=spf1 ip4:203.0.113.5 ip6:2001:db8::5 ~all"` },
    { level: 'problem' },
    {
      check: `feedback.${NAME}`,
      level: 'warning',
      fix: `feedback.${NAME}. IN A 203.0.113.5\nfeedback.${NAME}. IN AAAA 2001:db8::5`,
    },
    { level: 'ok' },
    { level: 'unknown' },
  ])
  zone[NAME] = 'servfail'
  t.match((await checkServerDomain(site))[0], { level: 'unknown' })
  t.match((await checkServerDomain({ ...site, transports: [] }))[0], { level: 'unknown' })
  zone[NAME] = { TXT: ['v=spf1 -all', 'v=spf1 ~all'] }
  t.match((await checkServerDomain({ ...site, transports: [] }))[0], { level: 'warning', finding: /2 SPF records/ })
})

t.test('checkPort25 waits for greetings and sends nothing', async t => {
  const site = await openSite(t, { 'gmail.com': { MX: ['10 mx.gmail.com'] }, 'mx.gmail.com': 'missing' })
  let heard = 0
  const greeting = await listen(t, socket => {
    socket.on('data', () => heard++)
    socket.write('220 mx.acme.com\u0007 ESMTP\r\n')
  })
  t.strictSame(await checkPort25(site, `127.0.0.1:${greeting}`), [
    { check: 'port 25', level: 'ok', finding: `Greeted by 127.0.0.1:${greeting} (220 mx.acme.com? ESMTP).` },
  ])
  const refusing = await listen(t, socket => socket.end('554 No SMTP service here\r\n'))
  shows(t, await checkPort25(site, `127.0.0.1:${refusing}`), [
    { level: 'problem', finding: /554 No SMTP/, fix: /open outgoing TCP port 25/ },
  ])
  const shut = await listen(t, () => {}, true)
  shows(t, await checkPort25({ ...site, transports: [] }, `127.0.0.1:${shut}`), [
    { level: 'warning', finding: /ECONNREFUSED/ },
  ])
  shows(t, await checkPort25(site, undefined), [
    { level: 'unknown', finding: /gmail\.com \(its MX has no address\), outlook\.com/ },
  ])
  t.equal(heard, 0)
})

t.test('readGreeting gives up on servers that are silent, endless or closed', async t => {
  const silent = await listen(t, () => {})
  await t.rejects(readGreeting('127.0.0.1', silent, 500), { message: 'connected, but it said nothing' })
  const endless = await listen(t, socket => socket.write('2'.repeat(5_000)))
  t.equal((await readGreeting('127.0.0.1', endless, 2_000)).length, 200)
  const rude = await listen(t, socket => socket.end())
  await t.rejects(readGreeting('127.0.0.1', rude, 2_000), { message: 'it hung up' })
})

t.test('checkRelay reports TLS and whether the login works', async t => {
  const plain = await startInbox(t)
  const withPassword = (url: string) => url.replace('//', '//me:secret@')
  shows(t, await checkRelay(plain.url, NAME), [{ level: 'warning', finding: /without TLS/ }])
  const [clear, ...rest] = await checkRelay(withPassword(plain.url), NAME)
  t.match(clear, { level: 'problem', finding: /in the clear/, fix: /requireTLS=true/ })
  t.notMatch(clear?.fix, /secret/)
  t.strictSame(rest, [])

  const onAuth = (
    { password }: { password?: string },
    _session: unknown,
    done: (error: Error | null, answer?: object) => void,
  ) =>
    password === 'secret'
      ? done(null, { user: 'me' })
      : done(Object.assign(new Error(`No ${password}`), { responseCode: 535 }))
  const secure = await startInbox(t, { starttls: true, disabledCommands: [], onAuth } as Parameters<
    typeof startInbox
  >[1])
  const trusted = `${withPassword(secure.url)}?tls.rejectUnauthorized=false`
  shows(t, await checkRelay(trusted, NAME), [
    { level: 'ok', finding: /with TLS/ },
    { level: 'ok', finding: /accepts the password/ },
  ])
  const wrong = await checkRelay(trusted.replace('secret', 'qwertz'), NAME)
  shows(t, wrong, [{ level: 'problem', finding: /535/ }])
  t.notMatch(JSON.stringify(wrong), /qwertz/)
  shows(t, await checkRelay(secure.url, NAME), [
    { level: 'problem', finding: /certificate/, fix: /rejectUnauthorized=false/ },
  ])
  shows(t, await checkRelay(`smtp://127.0.0.1:${await listen(t, () => {}, true)}`, NAME), [
    { level: 'problem', finding: /ECONNREFUSED/ },
  ])
})

t.test('BASE_URL must be public, use TLS and resolve', async t => {
  const zone: Zone = { 'api.acme.com': { A: [IPV4] } }
  const site = await openSite(t, zone)
  const check = (BASE_URL: string) => checkBaseUrl({ ...site, config: { ...site.config, BASE_URL } })
  shows(t, await check('http://localhost:3000'), [{ level: 'warning' }])
  shows(t, await check('https://api.acme.com'), [{ level: 'ok' }, { check: 'TRUSTED_PROXIES', level: 'warning' }])
  shows(t, await check('https://api.acme.com/api'), [
    { level: 'warning', finding: /ends in \/api/, fix: 'BASE_URL=https://api.acme.com' },
    { level: 'ok' },
    { check: 'TRUSTED_PROXIES' },
  ])
  shows(t, await check('https://api.acme.com/mail'), [
    { level: 'warning', finding: /has a path: .* the dashboard/, fix: /^BASE_URL=https:\/\/api\.acme\.com {3}/ },
    { level: 'ok' },
    { check: 'TRUSTED_PROXIES' },
  ])
  shows(t, await check('http://api.acme.com'), [
    { level: 'ok' },
    { level: 'warning', fix: /^BASE_URL=https:\/\/api\.acme\.com/ },
    {},
  ])
  delete zone['api.acme.com']
  shows(t, await check('https://api.acme.com'), [{ level: 'warning', fix: `api.acme.com. IN A ${IPV4}` }, {}])
})

t.test('the transport decides which checks run and how severe they are', async t => {
  const site = { ...(await openSite(t, {})), transports: [] }
  const names = (MAIL_TRANSPORT: string, server?: string) =>
    siteChecks({ ...site, config: { ...site.config, MAIL_TRANSPORT } }, server).map(({ check }) => check)
  t.ok(names('capture').includes('port 25'))
  t.notOk(names('smtp://relay.acme.com').includes('port 25'))
  t.ok(names('smtp://relay.acme.com', 'mx.acme.com').includes('port 25'))
  t.ok(names('smtp://relay.acme.com').includes('relay'))
  const [transport] = siteChecks(site, undefined)
  shows(t, await transport?.run(), [{ level: 'warning', finding: /^capture: mail is stored, nothing leaves/ }])
  const relays = 'smtp://relay.acme.com,smtps://relay.acme.org'
  t.equal(names(relays).filter(name => name === 'relay').length, 2)
  const [mixed] = siteChecks({ ...site, transports: ['direct', 'relay'] }, undefined)
  shows(t, await mixed?.run(), [
    { level: 'warning' },
    { level: 'ok', finding: /Some domains use other transports: direct, relay/ },
    { level: 'problem', fix: /^RELAY_URL=/ },
  ])
  t.ok(siteChecks({ ...site, transports: ['direct'] }, undefined).some(({ check }) => check === 'port 25'))
})

t.test('a check that hangs or throws is unknown, and delays no other', async t => {
  const report = about('good')
  const findings = await runChecks(
    [
      { check: 'hung', run: () => new Promise<Finding[]>(() => {}) },
      { check: 'broken', run: async () => Promise.reject(new Error('no such thing')) },
      { check: 'good', run: async () => [report.ok('It is.')] },
    ],
    50,
  )
  t.strictSame(findings, [
    { check: 'hung', level: 'unknown', finding: 'No result within 0.05 s.' },
    { check: 'broken', level: 'unknown', finding: 'It could not be checked: no such thing' },
    { check: 'good', level: 'ok', finding: 'It is.' },
  ])
  t.equal(exitCode(findings), 0)
  t.equal(exitCode([...findings, report.problem('It is not.')]), 1)
  t.equal(
    formatFindings([report.problem('It is not.', 'one\ntwo')]),
    'problem  good: It is not.\n           one\n           two',
  )
})

t.test('checkNode and judgeDisk report levels, and recordLine splits long TXT values', async t => {
  t.match(checkNode('22.1.0'), { level: 'problem' })
  t.match(checkNode('24.0.0'), { level: 'ok' })
  const gigabyte = 1 << 30
  t.match(judgeDisk('x', '/', 10 * gigabyte, 100 * gigabyte), {
    level: 'ok',
    finding: '10.0 GB free of 100.0 GB (10 %).',
  })
  t.match(judgeDisk('x', '/', 4 * gigabyte, 100 * gigabyte), { level: 'warning' })
  t.match(judgeDisk('x', '/', gigabyte - 1, 2 * gigabyte), { level: 'warning' })
  const value = `v=DKIM1; p="${'A'.repeat(300)}`
  const strings = `"v=DKIM1; p=\\"${'A'.repeat(243)}" "${'A'.repeat(57)}"`
  t.equal(recordLine({ name: 'k.acme.com', type: 'TXT', value }), `k.acme.com. IN TXT ${strings}`)
  t.equal(recordLine({ name: 'acme.com', type: 'MX', priority: 10, value: 'mx.b.com' }), 'acme.com. IN MX 10 mx.b.com.')
})

t.test('checkInbound reports the SMTP port and its certificate', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-doctor-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const SMTP_TLS_CERT = join(directory, 'tls.crt')
  await writeFile(SMTP_TLS_CERT, certificates.one.cert)
  const SMTP_PORT = await listen(t, socket => socket.write(`220 ${NAME} ESMTP\r\n`))
  const levels = async (given: { SMTP_PORT: number; SMTP_TLS_CERT: string | undefined }) =>
    (await checkInbound(given)).map(({ level }) => level)
  t.strictSame(await levels({ SMTP_PORT, SMTP_TLS_CERT }), ['ok', 'ok'])
  t.strictSame(await levels({ SMTP_PORT, SMTP_TLS_CERT: undefined }), ['ok', 'warning'])
  t.strictSame(await levels({ SMTP_PORT, SMTP_TLS_CERT: `${SMTP_TLS_CERT}.old` }), ['ok', 'problem'])
  const gone = await listen(t, () => {}, true)
  shows(t, await checkInbound({ SMTP_PORT: gone, SMTP_TLS_CERT }), [
    { level: 'warning', finding: /ECONNREFUSED/ },
    { level: 'ok' },
  ])
  t.teardown(() => setClock(performance.timeOrigin, 0))
  for (const [day, level] of [
    ['2119-12-20', 'warning'],
    ['2119-12-25', 'problem'],
  ] as const) {
    setClock(Date.parse(day), performance.now())
    t.strictSame(await levels({ SMTP_PORT, SMTP_TLS_CERT }), ['ok', level], day)
  }
})

async function openSite(t: Test, zone: Zone): Promise<Site> {
  const { server } = await startZone(t, zone)
  const config = testConfig('postgres://nobody@127.0.0.1/none', { HELO_NAME: NAME, BASE_URL: `https://${NAME}` })
  return { config, dns: createDns([server], SHORT_TIMES), addresses: [IPV4], transports: ['direct'] }
}

/** Starts a server with this behavior and returns its port; with `isGone` it is closed again. */
async function listen(t: Test, act: (socket: Socket) => void, isGone = false): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    act(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  if (isGone) close()
  else t.teardown(close)
  return port
}
