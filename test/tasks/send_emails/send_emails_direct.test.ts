import t, { type Test } from 'tap'
import { findMtaStsPolicy, upsertMtaStsPolicy } from '#sql/delivery/mta_sts_policies.ts'
import { setDomainTransport } from '#sql/domains/domains.ts'
import { purge } from '#tasks/purge.ts'
import { send_emails } from '#tasks/send_emails.ts'
import type { Work } from '#tasks/task.ts'
import { ageEmail, makeDue } from '#test/support/database/states.ts'
import { MAIL_HOSTS, openMailHosts, publishMx } from '#test/support/dns/mail_hosts.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const { server, zone, asked } = await startZone(t)
const hosts = await openMailHosts(t)
const world = await openWorld(t, {
  MAIL_TRANSPORT: 'direct',
  DNS_SERVERS: server,
  MX_PORT: String(hosts.port),
  MX_ALLOW: MAIL_HOSTS,
})
const { pg } = world.pool
const account = await newAccount(world)
const work = openWork(t, world)
/** Timeouts for tests with tarpits: none is given up before mail to another host has arrived. */
const PATIENT = { timeouts: { connect: 20_000, message: 20_000, dot: 1_000 } }
const sink = await hosts.start(64)
publishMx(zone, 'one.com', 64)

t.test('mail goes to the MX of the domain', async t => {
  const id = await send('ann@one.com')
  shows(t, await readEmail(world, account, id), {
    status: 'delivered',
    events: [{ type: 'sent' }, { type: 'delivered', via: 'direct', reply: '250 2.0.0 Ok' }],
  })
  shows(t, sink.ledger, [{ rcpt: 'ann@one.com' }])
})

t.test('each of three recipients has its own outcome', async t => {
  const id = await send(['ok@one.com', 'tmp-450@one.com', 'perm-550@one.com'])
  t.strictSame(await queueOf(id), [
    { recipient: 'ok@one.com', state: 'delivered', attempt: 1 },
    { recipient: 'perm-550@one.com', state: 'bounced', attempt: 1 },
    { recipient: 'tmp-450@one.com', state: 'queued', attempt: 1 },
  ])
  await makeDue(world, id)
  const before = sink.messages
  await deliverEmails(work, [id])
  shows(t, await queueOf(id), [{ attempt: 1 }, { attempt: 1 }, { recipient: 'tmp-450@one.com', attempt: 2 }])
  t.equal(sink.messages, before, 'only that one is tried again')
})

t.test('each SMTP reply gives its state, and only a rejected recipient is suppressed', async t => {
  publishMx(zone, 'answers.com', 64)
  const cases = [
    ['tmp-451', 'queued'],
    ['grey-1', 'queued'],
    ['perm-550', 'bounced'],
    ['reply-552-5.2.2', 'bounced'],
    ['reply-554-5.7.1', 'failed'],
    ['data-554', 'failed'],
    ['multiline-550-5.1.1', 'bounced'],
    ['8bit-450', 'queued'],
    ['drop-post-dot', 'in_doubt'],
    ['hang-post-dot', 'in_doubt'],
    ['421', 'queued'], // last, because it pauses the provider
  ] as const
  for (const [local, state] of cases) {
    const id = await send(`${local}@answers.com`)
    shows(t, await queueOf(id), [{ state, attempt: 1 }], local)
  }
  t.strictSame(await suppressedAt('answers.com'), ['multiline-550-5.1.1', 'perm-550', 'reply-552-5.2.2'])

  const id = await send('ok@answers.com')
  shows(t, await queueOf(id), [{ state: 'queued', attempt: 0 }], 'a paused provider uses up no attempt')
  const wait = 'SELECT extract(epoch FROM next_at - now())::int AS seconds, reason FROM deliveries WHERE email_id = $1'
  const [paused] = (await pg.query(wait, [id])).rows
  t.ok(paused.seconds >= 25 && paused.seconds <= 38, `${paused.seconds} s`)
  t.equal(paused.reason, 'answers.com asked us to slow down.')

  await ageEmail(world, id, 73)
  await makeDue(world, id)
  await deliverEmails(work, [id])
  const reason = 'Given up after 72 hours. answers.com asked us to slow down.'
  shows(t, await readEmail(world, account, id), { status: 'failed', events: [{ type: 'failed', reason }] }, 'for ever')
})

t.test('a relay or capture makes no DNS queries about recipients', async t => {
  Object.assign(zone, { 'mute.com': 'silent', 'gone.com': 'missing', 'null.com': { MX: ['0 .'] } })
  const inbox = await startInbox(t)
  const config = { ...world.config, RELAY_URL: inbox.url }
  const { by, account } = await openFor(t, 'direct', 'relay', config)
  asked.splice(0)
  for (const domain of ['mute.com', 'gone.com', 'null.com', 'answers.com']) {
    shows(t, await readEmail(world, account, await send(`ann@${domain}`, by, account)), { status: 'delivered' }, domain)
  }
  t.equal(inbox.messages.length, 4)
  const captured = await openFor(t, 'direct', 'capture', config)
  for (const domain of ['mute.com', 'gone.com', 'answers.com']) {
    const id = await send(`ann@${domain}`, captured.by, captured.account)
    t.match((await readEmail(world, captured.account, id)).events.at(-1), { type: 'delivered', via: 'capture' }, domain)
  }
  t.strictSame(asked, [])
})

t.test('a domain may send directly when the server uses a relay or captures', async t => {
  const inbox = await startInbox(t)
  publishMx(zone, 'pauses.com', 64)
  for (const usual of ['capture', inbox.url]) {
    const { by, account } = await openFor(t, usual, 'direct')
    const read = async (to: string) => readEmail(world, account, await send(to, by, account))
    shows(t, await read('ann@one.com'), { events: [{ type: 'sent' }, { type: 'delivered', via: 'direct' }] })
    shows(t, await read('reply-550-5.1.1@one.com'), {
      events: [{ type: 'bounced', class: 'recipient', bounce: { type: 'Permanent', subType: 'NoEmail' } }],
    })
    shows(t, await read('421@pauses.com'), { status: 'delivery_delayed' })
    shows(t, await read('ann@pauses.com'), {
      status: 'queued',
      queue: [{ state: 'queued', attempts: 0, reason: 'pauses.com asked us to slow down.' }],
    })
  }
  t.equal(inbox.messages.length, 0)
})

t.test('a connection lost during the message is retried, not in doubt', async t => {
  const text = 'long '.repeat(2_400_000) // more than the socket buffers hold
  const id = await acceptEmail(world, account, { to: 'drop-mid-body@one.com', text })
  await deliverEmails(work, [id])
  shows(t, await queueOf(id), [{ state: 'queued', attempt: 1 }])
})

t.test('a domain with a null MX bounces, one on private addresses suppresses nobody', async t => {
  zone['null.com'] = { MX: ['0 .'] }
  zone['forbidden.com'] = { MX: ['10 mx.forbidden.com'] }
  zone['mx.forbidden.com'] = { A: ['127.0.0.66'], AAAA: ['::1'] }
  zone['broken.com'] = 'servfail'
  shows(t, await readEmail(world, account, await send('ann@null.com')), {
    status: 'bounced',
    events: [{ type: 'bounced', reply: '556 5.1.10 null.com accepts no mail.' }],
  })
  shows(t, await readEmail(world, account, await send('ann@missing.com')), { status: 'bounced' })
  shows(t, await readEmail(world, account, await send('ann@forbidden.com')), { status: 'failed' })
  shows(t, await readEmail(world, account, await send('ann@broken.com')), { status: 'delivery_delayed' })
  t.strictSame(await suppressedAt('null.com'), ['ann'])
  t.strictSame(await suppressedAt('missing.com'), ['ann'])
  t.strictSame(await suppressedAt('forbidden.com'), [])
  t.equal(hosts.heard(), 0)
})

t.test('tls of a domain is enforced for its emails', async t => {
  await pg.query("UPDATE domains SET tls = 'enforced' WHERE id = $1", [account.domain_id])
  shows(t, await readEmail(world, account, await send('ann@one.com')), {
    status: 'delivery_delayed',
    queue: [{ reason: /^TLS is required here\. / }],
  })
  await pg.query("UPDATE domains SET tls = 'opportunistic' WHERE id = $1", [account.domain_id])
})

t.test('a stored MTA-STS policy applies in a new worker until it expires', async t => {
  const policy = { policy_id: '1', mode: 'enforce' as const, mx: ['mx.strict.com'] }
  publishMx(zone, 'strict.com', 64)
  await upsertMtaStsPolicy(world.pool, 'strict.com', { ...policy, expires_at: new Date(Date.now() + 60_000) })
  shows(t, await readEmail(world, account, await send('ann@strict.com')), {
    status: 'delivery_delayed',
    queue: [{ reason: /^TLS is required here\. / }],
  })
  await upsertMtaStsPolicy(world.pool, 'strict.com', { ...policy, expires_at: new Date(Date.now() - 1) })
  t.match(await findMtaStsPolicy(world.pool, 'strict.com'), policy)
  shows(t, await readEmail(world, account, await send('ann@strict.com', openWork(t, world))), { status: 'delivered' })
  await purge({}, work)
  t.equal(await findMtaStsPolicy(world.pool, 'strict.com'), null)
})

t.test('a slow provider of many domains uses at most its share of a worker', async t => {
  const others = openWork(t, world, 'direct', PATIENT)
  await send('ok@one.com', others)
  await hosts.start(72, { greeting: 'dribble' })
  zone['mx.slow.com'] = { A: ['127.0.0.72'] }
  for (let n = 0; n < 600; n++) zone[`at-slow${n}.com`] = { MX: ['10 mx.slow.com'] }
  for (let n = 0; n < 600; n += 50) {
    const to = Array.from({ length: 50 }, (_, i) => `ann@at-slow${n + i}.com`)
    await acceptEmail(world, account, { to })
  }
  others.sender.start()
  const waiting =
    "SELECT count(*)::int FROM deliveries WHERE reason = 'Other mail to the same receiver goes first.' AND attempt = 0"
  await waitUntil(async () => (await pg.query(waiting)).rows[0].count >= 50, '50 are put off')
  const before = sink.messages
  await acceptEmail(world, account, { to: 'ok@one.com' })
  await waitUntil(() => sink.messages > before, 'mail to the other host arrives')
  await others.sender.stop()
  t.strictSame(await attemptsOf('ann@at-slow%'), [0], 'none has been given up by then')
})

t.test('silent DNS for many domains delays no other emails and no stop', async t => {
  const others = openWork(t, world)
  for (let n = 0; n < 200; n++) zone[`silent${n}.com`] = 'silent'
  const silent = await Promise.all(
    Array.from({ length: 200 }, (_, n) => acceptEmail(world, account, { to: `ann@silent${n}.com` })),
  )
  await send_emails({ email_ids: silent }, others)
  const before = sink.messages
  const id = await acceptEmail(world, account, { to: 'ok@one.com' })
  await send_emails({ email_ids: [id] }, others)
  await sink.arrived(before + 1)
  await others.sender.stop()
  const { rows } = await pg.query(
    "SELECT DISTINCT state, attempt FROM deliveries WHERE recipient LIKE '%@silent%.com' AND state <> 'queued'",
  )
  t.strictSame(rows, [], 'all are given back')
})

t.test('tarpits leave connections to other hosts', async t => {
  const others = openWork(t, world, 'direct', PATIENT)
  await hosts.start(71, { greeting: 'dribble' })
  await send('ok@one.com', others) // makes the host known
  for (let n = 0; n < 50; n++) publishMx(zone, `tarpit${n}.com`, 71)
  const slow = Array.from({ length: 100 }, (_, n) => `ann@tarpit${n % 50}.com`)
  const ids = await Promise.all(slow.map(to => acceptEmail(world, account, { to })))
  await send_emails({ email_ids: ids }, others)
  const before = sink.messages
  const fast = await Promise.all(
    Array.from({ length: 50 }, (_, n) => acceptEmail(world, account, { to: `ok${n}@one.com` })),
  )
  await send_emails({ email_ids: fast }, others)
  await waitUntil(() => sink.messages >= before + 50, 'mail to the other host arrives')
  await others.sender.stop()
  t.strictSame(await attemptsOf('ann@tarpit%'), [0], 'no tarpit has been given up by then')
})

/** The different numbers of attempts of the deliveries to recipients like this. */
async function attemptsOf(like: string): Promise<number[]> {
  const { rows } = await pg.query('SELECT DISTINCT attempt FROM deliveries WHERE recipient LIKE $1 ORDER BY 1', [like])
  return rows.map(({ attempt }) => attempt)
}

/** An account whose domain uses another transport than the server. */
async function openFor(t: Test, usual: string, transport: 'capture' | 'relay' | 'direct', config = world.config) {
  const account = await newAccount(world)
  await setDomainTransport(world.pool, { account_id: account.id, id: account.domain_id }, transport)
  return { by: openWork(t, { ...world, config }, usual), account }
}

async function send(to: string | string[], by: Work = work, from: TestAccount = account): Promise<string> {
  const id = await acceptEmail(world, from, { to })
  await deliverEmails(by, [id])
  return id
}

async function queueOf(id: string): Promise<{ recipient: string; state: string; attempt: number }[]> {
  const { rows } = await pg.query(
    'SELECT recipient, state, attempt FROM deliveries WHERE email_id = $1 ORDER BY recipient',
    [id],
  )
  return rows
}

async function suppressedAt(domain: string): Promise<string[]> {
  const { rows } = await pg.query(
    "SELECT split_part(address, '@', 1) AS local FROM suppressions WHERE address LIKE $1",
    [`%@${domain}`],
  )
  return rows.map(({ local }) => local).sort()
}
