import t, { type Test } from 'tap'
import type { SmtpTimeouts } from '#lib/delivery/smtp/server.ts'
import { setDomainTransport } from '#sql/domains/domains.ts'
import { send_emails } from '#tasks/send_emails.ts'
import type { Work } from '#tasks/task.ts'
import type { Sink } from '#test/faults/support/sink.ts'
import { MAIL_HOSTS, openMailHosts, publishMx } from '#test/support/dns/mail_hosts.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { startS3Server } from '#test/support/http/s3_server.ts'
import { acceptEmail, openWork, TEST_TIMES } from '#test/support/sending.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const { server, zone } = await startZone(t)
const hosts = await openMailHosts(t)
const CONNECTIONS = 4
const world = await openWorld(t, {
  SEND_CONNECTIONS: String(CONNECTIONS),
  DNS_SERVERS: server,
  MX_PORT: String(hosts.port),
  MX_ALLOW: MAIL_HOSTS,
})
const { pg } = world.pool
const account = await newAccount(world)
/** An account that never sends by a relay. */
const direct = await newAccount(world)
await setDomainTransport(world.pool, { account_id: direct.id, id: direct.domain_id }, 'direct')

/** Timeouts longer than a test; each test shortens those that it is about. */
const PATIENT: SmtpTimeouts = { connect: 60_000, message: 60_000, dot: 120_000, silence: 60_000, stall: 60_000 }
const TIMES = { ...TEST_TIMES, drain_ms: 200 }

t.test('a second relay gets the mail when all connections of a silent one wait', async t => {
  const [first, second] = [await openSink(t, { silent: true }), await openSink(t)]
  const work = openRelayed(t, [first, second], { ...PATIENT, stall: 200 })
  const held = await accept(work, CONNECTIONS)
  await first.arrived(CONNECTIONS)
  await second.arrived((await accept(work, 20)).length)
  t.equal(first.messages, CONNECTIONS)

  first.speak()
  await untilState(held, { 'delivered 1': CONNECTIONS })
  await first.arrived(CONNECTIONS + (await accept(work, 4)).length)
  t.equal(second.messages, 20, 'the first relay gets all mail again')
})

t.test('a destination gets half of each relay, not half of all together', async t => {
  const [first, second] = [await openSink(t, { silent: true }), await openSink(t)]
  const work = openRelayed(t, [first, second], { ...PATIENT, stall: 200 })
  const same = Array.from({ length: 12 }, (_, n) => `ok-${n}@one.com`)
  await acceptTo(work, same)
  await second.arrived(10)
  t.same([first.messages, second.messages], [2, 10])
})

t.test('a delivery to a silent relay is set aside and settled by the late reply', async t => {
  const relay = await openSink(t, { silent: true })
  const lease = { lease_seconds: 2, heartbeat_ms: 200 }
  const work = openRelayed(t, [relay], { ...PATIENT, silence: 100 }, lease)
  work.sender.start()
  const ids = await accept(work, 20)
  // These are the ones set aside and those with connections; the relay gets no more.
  const isSettled = async () => {
    const { 'sending 1': sending = 0, 'queued 1': deferred = 0 } = await statesOf(ids)
    return sending === relay.messages && sending + deferred === ids.length
  }
  await waitUntil(isSettled, 'each waits for a reply or is deferred')
  const asked = relay.messages
  t.ok(asked >= CONNECTIONS && asked <= 2 * CONNECTIONS, `${asked} wait for a reply`)
  t.match(
    await reasonOf(ids),
    /^4 messages wait for its reply already\.$|^Not tried after \d+ failures in a row\. It did not/,
  )
  const [{ lease_until }] = (await pg.query('SELECT max(lease_until) AS lease_until FROM deliveries')).rows
  const isPast = async () => (await pg.query('SELECT now() > $1 AS is_past', [lease_until])).rows[0].is_past
  await waitUntil(isPast, 'the leases would have ended')
  t.equal((await statesOf(ids))['sending 1'], asked, 'the heartbeat extends the leases of deliveries set aside')

  relay.speak()
  await untilState(ids, { 'delivered 1': asked, 'queued 1': 20 - asked })
  await pg.query(`UPDATE deliveries SET next_at = now() WHERE state = 'queued' AND email_id = ANY($1)`, [ids])
  await untilState(ids, { 'delivered 1': asked, 'delivered 2': 20 - asked })
  t.equal(relay.messages, 20, 'nothing was sent twice')
})

t.test('a relay that stays silent leaves its emails in doubt, and none goes to another', async t => {
  const [first, second] = [await openSink(t, { silent: true }), await openSink(t)]
  const work = openRelayed(t, [first, second], { ...PATIENT, dot: 1_000, silence: 100, stall: 50 })
  const ids = await accept(work, 40)
  await waitUntil(() => first.messages + second.messages === 40, 'all of it has arrived')
  t.ok(first.messages <= 2 * CONNECTIONS, `${first.messages} wait for a reply, and the relay gets no more`)
  await untilState(ids, { 'delivered 1': second.messages, 'in_doubt 1': first.messages })
  t.equal(first.messages + second.messages, 40, 'none was sent to both')
})

t.test('large emails set aside release their memory to other large ones', async t => {
  const [first, second] = [await openSink(t, { silent: true }), await openSink(t)]
  const urls = `${first.url},${second.url}`
  const timeouts = { ...PATIENT, silence: 100, stall: 100 }
  // Room for one large email at a time.
  const work = openWork(t, world, urls, { times: TIMES, timeouts, room: 1_000_000 })
  const html = '<i>é</i>\n'.repeat(100_000)
  const ids = await Promise.all(
    Array.from({ length: 10 }, (_, n) => acceptEmail(world, account, { to: `ok@large${n}.com`, html })),
  )
  await send_emails({ email_ids: ids }, work)
  await waitUntil(() => first.messages + second.messages === 10, 'all of it has arrived')
  t.ok(first.messages > 0 && second.messages > 0, `${first.messages} wait for a reply`)
})

t.test('the number of emails past the final dot is at most twice the connections', async t => {
  const relay = await openSink(t)
  const work = openRelayed(t, [relay], { ...PATIENT, silence: 100 })
  // Every second one gets a reply, so that the number closes the relay and not a row of failures.
  const names = Array.from({ length: 60 }, (_, n) => `${n % 2 ? 'ok' : 'hang-post-dot'}-${n}@d${n % 7}.com`)
  const ids = await acceptTo(work, names)
  const count = `SELECT count(*)::int AS sending FROM deliveries WHERE state = 'sending' AND email_id = ANY($1)`
  const isPast = `SELECT bool_and(phase = 'dot') AS all_past FROM deliveries WHERE state = 'sending' AND email_id = ANY($1)`
  const isFull = async () => {
    const [{ sending }] = (await pg.query(count, [ids])).rows
    const [{ all_past }] = (await pg.query(isPast, [ids])).rows
    return all_past && sending <= 2 * CONNECTIONS && (await statesOf(ids))['queued 0'] === undefined
  }
  await waitUntil(isFull, 'what is sent is past its final dot, and all else has been tried')
  const hanging = relay.ledger.filter(({ rcpt }) => rcpt.startsWith('hang')).length
  t.ok(hanging >= CONNECTIONS && hanging <= 2 * CONNECTIONS, `${hanging} wait for a reply`)

  await work.sender.stop()
  t.equal((await statesOf(ids))['in_doubt 1'], hanging, 'a stop without the replies leaves these in doubt')
  t.equal((await statesOf(ids))['sending 1'], undefined)
})

t.test('silent hosts delay no others under direct delivery', async t => {
  const silent = await Promise.all([64, 65].map(n => hosts.start(n, { silent: true })))
  const well = await hosts.start(68)
  for (const [name, n] of [
    ['quiet.com', 64],
    ['mute.com', 65],
    ['fresh.com', 68],
    ['new.com', 68],
  ] as const) {
    publishMx(zone, name, n)
  }
  const work = openWork(t, world, 'direct', { times: TIMES, timeouts: { ...PATIENT, silence: 100 } })
  const held = await acceptTo(work, [...many(8, 'quiet.com'), ...many(8, 'mute.com')])
  await Promise.all(silent.map(sink => sink.arrived(1)))
  await acceptTo(work, [...many(8, 'fresh.com'), ...many(8, 'new.com')])
  await well.arrived(16)
  for (const sink of silent) t.ok(sink.connections <= CONNECTIONS, `${sink.connections} connections to a silent host`)

  for (const sink of silent) sink.speak()
  const isDelivered = async () => {
    await pg.query(`UPDATE deliveries SET next_at = now() WHERE state = 'queued' AND email_id = ANY($1)`, [held])
    await send_emails({ email_ids: held }, work)
    const states = await statesOf(held)
    return Object.keys(states).every(state => state.startsWith('delivered'))
  }
  await waitUntil(isDelivered, 'the mail of the hosts that were silent is delivered')
  t.equal(
    silent.reduce((sum, { messages }) => sum + messages, 0),
    16,
    'each got its mail once',
  )
})

t.test('a silent relay takes no capacity from direct delivery', async t => {
  const relay = await openSink(t, { silent: true })
  const well = await hosts.start(74)
  for (const n of [0, 1, 2]) publishMx(zone, `well${n}.com`, 74)
  const work = openRelayed(t, [relay], PATIENT)
  work.sender.start()
  await acceptDirect(work, many(1, 'well0.com'))
  await well.arrived(1)
  // More than a process holds, and so few per destination that all are claimed.
  const destinations = Array.from({ length: 24 }, (_, n) => many(45, `r${n}.com`))
  const held = await acceptTo(work, destinations)
  await relay.arrived(CONNECTIONS)
  await waitUntil(async () => ((await statesOf(held))['sending 1'] ?? 0) >= 400, '400 are being sent')
  await acceptDirect(work, [...many(8, 'well1.com'), ...many(8, 'well2.com')])
  await well.arrived(17)
  t.equal(relay.messages, CONNECTIONS)

  await work.sender.stop()
  const { 'in_doubt 1': in_doubt, ...others } = await statesOf(held)
  t.equal(in_doubt, CONNECTIONS)
  t.same(others, { 'queued 0': 1_080 - CONNECTIONS })
})

t.test('silent hosts take no capacity from the relay', async t => {
  const relay = await openSink(t)
  const numbers = [75, 76, 77, 78]
  const silent = await Promise.all(numbers.map(n => hosts.start(n)))
  for (const n of numbers) publishMx(zone, `silent${n}.com`, n)
  const work = openRelayed(t, [relay], PATIENT)
  // They have responded before, so direct delivery has all of its slots for them.
  for (const n of numbers) await acceptDirect(work, many(1, `silent${n}.com`))
  await work.sender.idle()
  await acceptDirect(
    work,
    numbers.flatMap(n => many(20, `silent${n}.com`).map(name => `hang-post-dot-${name}`)),
  )
  const arrived = () => silent.reduce((sum, { messages }) => sum + messages, 0)
  await waitUntil(() => arrived() === numbers.length + CONNECTIONS, 'every connection holds a message')
  await acceptTo(
    work,
    Array.from({ length: 20 }, (_, n) => `ok-${n}@d${n % 4}.com`),
  )
  await relay.arrived(20)
  t.equal(relay.messages, 20)
})

t.test('the second MX gets the mail when the first is silent', async t => {
  const [first, second] = [await hosts.start(72, { silent: true }), await hosts.start(73)]
  zone['two-hosts.com'] = { MX: ['10 mx1.two-hosts.com', '20 mx2.two-hosts.com'] }
  zone['mx1.two-hosts.com'] = { A: ['127.0.0.72'] }
  zone['mx2.two-hosts.com'] = { A: ['127.0.0.73'] }
  const work = openWork(t, world, 'direct', { times: TIMES, timeouts: { ...PATIENT, silence: 100 } })
  await acceptTo(work, many(10, 'two-hosts.com'))
  await waitUntil(() => first.messages + second.messages === 10, 'all of it has arrived')
  t.ok(first.messages <= CONNECTIONS, `${first.messages} wait at the first`)
})

t.test('a blob store that hangs delays no other emails and no stop', async t => {
  const [relay, s3] = [await openSink(t), await startS3Server(t)]
  const stored = { ...world, config: { ...world.config, BLOB_STORE: s3.url } }
  const work = openWork(t, stored, relay.url, { times: TIMES, timeouts: PATIENT })
  const attachments = [{ filename: 'a.txt', content: Buffer.from('a').toString('base64') }]
  // As many as are composed at once.
  const hanging: string[] = []
  for (let n = 0; n < 64; n++) {
    hanging.push(await acceptEmail(stored, account, { to: `ok-${n}@s${n % 4}.com`, attachments }))
  }
  s3.hang(/^GET /)
  await send_emails({ email_ids: hanging }, work)
  await relay.arrived((await accept(work, 3)).length)
  t.same(await statesOf(hanging), { 'sending 1': 64 })
  await work.sender.stop()
  t.same(await statesOf(hanging), { 'queued 0': 64 })
  s3.speak()
})

function openRelayed(t: Test, sinks: Sink[], timeouts: SmtpTimeouts, times: Partial<typeof TIMES> = {}): Work {
  const urls = sinks.map(({ url }) => url).join(',')
  return openWork(t, world, urls, { times: { ...TIMES, ...times }, timeouts })
}

function many(count: number, domain: string): string[] {
  return Array.from({ length: count }, (_, n) => `ok-${n}@${domain}`)
}

/** Accepts emails to this many destinations. */
function accept(work: Work, count: number): Promise<string[]> {
  return acceptTo(
    work,
    Array.from({ length: count }, (_, n) => `ok@d${n}.com`),
  )
}

function acceptDirect(work: Work, recipients: string[]): Promise<string[]> {
  return acceptTo(work, recipients, direct)
}

/** Accepts an email per element, which may be a list of recipients. */
async function acceptTo(work: Work, recipients: (string | string[])[], sender = account): Promise<string[]> {
  const ids = await Promise.all(recipients.map(to => acceptEmail(world, sender, { to })))
  await send_emails({ email_ids: ids }, work)
  return ids
}

/** The number of deliveries per state and attempts. */
async function statesOf(ids: string[]): Promise<Record<string, number>> {
  const { rows } = await pg.query(
    `SELECT state || ' ' || attempt AS state, count(*)::int AS count FROM deliveries
     WHERE email_id = ANY($1) GROUP BY 1 ORDER BY 1`,
    [ids],
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

async function untilState(ids: string[], states: Record<string, number>): Promise<void> {
  const wanted = JSON.stringify(states)
  const found = async () => JSON.stringify(await statesOf(ids))
  await waitUntil(
    async () => (await found()) === wanted,
    async () => `${wanted}; they are ${await found()}`,
  )
}

async function reasonOf(ids: string[]): Promise<string> {
  const query = `SELECT reason FROM deliveries WHERE state = 'queued' AND email_id = ANY($1)`
  return (await pg.query(query, [ids])).rows[0].reason
}
