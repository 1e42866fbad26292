import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { acceptEmails } from '#flows/sending/accept_emails.ts'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { createLog } from '#lib/log.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { send_emails } from '#tasks/send_emails.ts'
import { acceptEmail, deliverEmails, openWork, readEmail, TEST_TIMES } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { SEND_CONNECTIONS: '20' })

/** Generous timeouts: mail that a busy machine defers would wait for a minute. */
const PATIENT = {
  times: { ...TEST_TIMES, lease_seconds: 60 },
  timeouts: { connect: 60_000, message: 60_000, dot: 60_000 },
}

t.test('two senders on one database send everything once', async t => {
  const account = await newAccount(world)
  const sink = await open(t)
  await acceptMany(account, 2_000, i => `ok-${i}@y${i % 3}.com`)
  const senders = [1, 2].map(() => openWork(t, world, sink.url, PATIENT).sender)
  for (const sender of senders) sender.start()
  await untilSettled(account)

  t.equal(sink.messages, 2_000)
  t.equal(new Set(sink.ledger.map(entry => entry.rcpt)).size, 2_000)
  t.strictSame(await countStates(account), { 'delivered 1': 2_000 })
  await Promise.all(senders.map(sender => sender.stop()))
})

t.test('mail over the capacity is sent as room becomes free, without another job', async t => {
  const account = await newAccount(world)
  const ids = await acceptMany(account, 3_000, i => `ok-${i}@y.com`)
  const work = openWork(t, world, 'capture', PATIENT)
  await send_emails({ email_ids: ids.slice(0, 1) }, work)
  await send_emails({ email_ids: ids }, work)
  await untilSettled(account)
  t.strictSame(await countStates(account), { 'delivered 1': 3_000 })
})

t.test('a slow destination with mail over the capacity does not block others', async t => {
  const account = await newAccount(world)
  const sink = await open(t)
  const { sender } = openWork(t, world, sink.url, PATIENT)
  await acceptMany(account, 1_500, i => `dribble-${i}@slow.com`)
  sender.start()
  await sleep(500)
  await acceptMany(account, 100, i => `ok-${i}@fast.com`)
  await waitUntil(async () => (await countStates(account))['delivered 1'] === 100, 'the fast ones are delivered')
  t.equal(sink.connections, 20, 'each sender sent about half')
  await sender.stop()
  t.strictSame(await countStates(account), { 'delivered 1': 100, 'queued 0': 1_500 })
})

t.test('a worker at capacity releases nothing that it holds', async t => {
  const account = await newAccount(world)
  const sink = await open(t)
  const { sender } = openWork(t, world, sink.url, PATIENT)
  await acceptMany(account, 1_200, i => `dribble-${i}@slow${i % 10}.com`)
  sender.start()
  // Mail of earlier tests takes the rest of the capacity of 1,000.
  await waitUntil(async () => ((await countStates(account))['sending 1'] ?? 0) >= 700, '700 are being sent')
  await sleep(3 * PATIENT.times.poll_ms)
  const { rows } = await world.pool.pg.query(
    'SELECT count(*)::int FROM deliveries WHERE account_id = $1 AND reason IS NOT NULL',
    [account.id],
  )
  t.strictSame(rows, [{ count: 0 }], 'nothing was claimed and then given back')
  await sender.stop()
})

t.test('a domain that may no longer send sends nothing', async t => {
  const account = await newAccount(world)
  const sink = await open(t)
  const lines: string[] = []
  const log = createLog('info', { write: line => lines.push(line) })
  const work = openWork(t, { ...world, log }, sink.url)
  const gone = await acceptEmail(world, account)
  const refused = await acceptEmail(world, account)
  const foreign = await acceptEmail(world, account)
  const { domain_id } = await newAccount(world)
  await world.pool.pg.query(`UPDATE emails SET domain_id = gen_random_uuid() WHERE id = $1`, [gone])
  await world.pool.pg.query(`UPDATE emails SET domain_id = $2 WHERE id = $1`, [foreign, domain_id])
  await world.pool.pg.query(`UPDATE domains SET status = 'failed' WHERE id = $1`, [account.domain_id])
  await deliverEmails(work, [gone, foreign, refused])

  const reason = 'The domain may no longer send.'
  for (const id of [gone, foreign, refused]) {
    shows(t, await readEmail(world, account, id), { status: 'failed', events: [{ type: 'failed', reason }] })
  }
  t.strictSame(lines, [], 'the log has no line per email')
  t.equal(sink.connections, 0)
})

t.test('cached keys do not sign for a failed, paused or deleted domain', async t => {
  for (const [how, status] of [
    [`UPDATE domains SET status = 'failed' WHERE id = $1`, 'failed'],
    [`UPDATE domains SET paused_at = now() WHERE id = $1`, 'queued'],
    ['DELETE FROM domains WHERE id = $1', 'failed'],
  ] as const) {
    const account = await newAccount(world)
    const sink = await open(t)
    const work = openWork(t, world, sink.url, PATIENT)
    const send = async (id: string) => {
      await deliverEmails(work, [id])
      return readEmail(world, account, id)
    }
    shows(t, await send(await acceptEmail(world, account)), { status: 'delivered' })
    const next = await acceptEmail(world, account)
    await world.pool.pg.query(how, [account.domain_id])
    t.match(await send(next), { status }, how)
    t.equal(sink.messages, 1)
  }
})

t.test('a job that runs twice, even concurrently, sends once', async t => {
  const account = await newAccount(world)
  const sink = await open(t)
  const works = [1, 2].map(() => openWork(t, world, sink.url, PATIENT))
  const ids = await acceptMany(account, 60, i => `ok-${i}@y.com`)
  await Promise.all([...works, ...works].map(work => send_emails({ email_ids: ids }, work)))
  await Promise.all(works.map(work => work.sender.idle()))
  await Promise.all(works.map(work => send_emails({ email_ids: ids }, work)))
  await untilSettled(account)
  t.equal(sink.messages, 60)
})

async function open(t: Test) {
  const sink = await openSink(t)
  return sink
}

/** Accepts emails with `count` recipients, 50 each. */
async function acceptMany(account: TestAccount, count: number, address: (i: number) => string): Promise<string[]> {
  const all = Array.from({ length: count }, (_, i) => address(i))
  const drafts = Array.from({ length: Math.ceil(count / 50) }, (_, i) => {
    const to = all.slice(50 * i, 50 * i + 50)
    const email = CompleteEmail.parse({ from: `hello@${account.domain}`, to, subject: 'Hello', text: 'Hello' })
    return toDraft({ account_id: account.id, domain_id: null }, email, null, world.config.SIMULATOR_DOMAIN)
  })
  await acceptEmails(world.pool, drafts)
  return drafts.map(draft => draft.id)
}

async function countStates(account: TestAccount): Promise<Record<string, number>> {
  const { rows } = await world.pool.pg.query(
    `SELECT state || ' ' || attempt AS state, count(*) FROM deliveries WHERE account_id = $1 GROUP BY 1`,
    [account.id],
  )
  return Object.fromEntries(rows.map(row => [row.state, Number(row.count)]))
}

async function untilSettled(account: TestAccount): Promise<void> {
  const isOpen = (states: Record<string, number>) => Object.keys(states).some(state => /^(queued|sending)/.test(state))
  await waitUntil(async () => !isOpen(await countStates(account)), 'all mail of the account is settled')
}
