import t from 'tap'
import { v7 as uuid } from 'uuid'
import { cancelEmail } from '#flows/sending/change_schedule.ts'
import { claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { type Party, pauseParty, resumeParty } from '#sql/safety/pauses.ts'
import { pausePlatform, resumePlatform } from '#sql/safety/platform.ts'
import { release_deliveries } from '#tasks/release_deliveries.ts'
import { acceptEmail, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const query = (text: string, values: unknown[] = []) => pool.pg.query(text, values).then(result => result.rows)
const pause = (party: Party) => pauseParty(pool, party, { paused_by: 'operator', reason: null })
const resume = (party: Party) => pool.transaction(tx => resumeParty(tx, party))
const whole = ({ id }: TestAccount): Party => ({ account_id: id, domain_id: null })
const claim = (limit = 125, email_ids?: string[]) =>
  claimDeliveries(pool, { lease_owner: uuid(), lease_seconds: 40, limit, ...(email_ids ? { email_ids } : {}) })

t.beforeEach(async () => {
  await query('TRUNCATE emails, graphile_worker._private_jobs CASCADE')
})

t.test('a paused platform claims nothing, and sends after it is resumed', async t => {
  const account = await newAccount(world)
  const inbox = await startInbox(t)
  const { sender } = openWork(t, world, inbox.url)
  const id = await acceptEmail(world, account)
  await pausePlatform(pool, null)
  t.strictSame(await claim(), [])
  t.strictSame(await claim(125, [id]), [])
  sender.start()
  await sender.offer([id])
  await sender.idle()
  shows(t, await readEmail(world, account, id), {
    status: 'queued',
    queue: [{ state: 'queued', attempts: 0, reason: 'Sending is paused on this server.' }],
  })
  t.equal(inbox.messages.length, 0)

  await resumePlatform(pool)
  await inbox.waitFor(1)
})

for (const what of ['account', 'domain'] as const) {
  t.test(`mail of a paused ${what} is not claimed, and is sent afterwards`, async t => {
    const account = await newAccount(world)
    const party = { account_id: account.id, domain_id: what === 'domain' ? account.domain_id : null }
    const inbox = await startInbox(t)
    const work = openWork(t, world, inbox.url)
    const id = await acceptEmail(world, account, { to: ['a@y.com', 'b@y.com'] })
    await pause(party)
    t.teardown(() => resume(party))
    t.strictSame(await claim(125, [id]), [])
    t.strictSame(await claim(), [])
    shows(t, await query('SELECT DISTINCT state, attempt, next_at FROM deliveries'), [
      { state: 'queued', attempt: 0, next_at: Number.POSITIVE_INFINITY },
    ])
    const waiting = { reason: `Sending is paused for the ${what}.`, attempts: 0, next_attempt_at: null }
    shows(t, await readEmail(world, account, id), { status: 'queued', queue: [waiting, waiting] })
    await release_deliveries({}, work)
    t.strictSame(await claim(), [], 'not before its end')

    work.sender.start()
    await resume(party)
    t.strictSame(await query(`SELECT FROM graphile_worker.jobs WHERE task_identifier = 'release_deliveries'`), [{}])
    await release_deliveries({}, work)
    await inbox.waitFor(2)
  })
}

t.test('a pause leaves mail that is not due as it was', async t => {
  const account = await newAccount(world)
  const [first, second] = [await acceptEmail(world, account), await schedule(account)]
  await query(
    `UPDATE deliveries SET next_at = now() + interval '1 hour', attempt = 1, reason = 'Busy.' WHERE email_id = $1`,
    [first],
  )
  await pause(whole(account))
  t.teardown(() => resume(whole(account)))
  shows(t, await readEmail(world, account, first), { queue: [{ reason: 'Busy.', next_attempt_at: Date }] })
  shows(t, await readEmail(world, account, second), { queue: [{ reason: 'It is not due yet.' }] })
  await query('UPDATE deliveries SET next_at = now()')
  t.strictSame(await claim(), [])
  shows(t, await readEmail(world, account, first), { queue: [{ reason: 'Sending is paused for the account.' }] })
  shows(t, await readEmail(world, account, second), { status: 'scheduled' })
  await cancelEmail(pool, { account_id: account.id, id: second })
  shows(t, await readEmail(world, account, second), { status: 'canceled' })
})

t.test('a large backlog of a paused account does not block others', async t => {
  const [paused, account] = [await newAccount(world), await newAccount(world)]
  await acceptEmail(world, paused)
  await query(`INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, next_at)
    SELECT account_id, gen_random_uuid(), email_id, 'u' || n || '@y.com', 'y.com', 'queued', next_at
    FROM deliveries, generate_series(1, 12000) n`)
  const id = await acceptEmail(world, account)
  await pause(whole(paused))
  t.teardown(() => resume(whole(paused)))
  shows(t, await claim(), [{ email_id: id }])
  t.strictSame(await claim(), [])
  shows(t, await query(`SELECT count(*)::int AS waiting FROM deliveries WHERE next_at < 'infinity'`), [{ waiting: 0 }])

  await resume(whole(paused))
  await release_deliveries({}, openWork(t, world))
  t.equal((await claim()).length, 125, 'as much as asked for')
})

t.test('concurrent claims skip paused mail and claim each delivery once', async t => {
  const [paused, account] = [await newAccount(world), await newAccount(world)]
  for (let n = 0; n < 40; n++) await acceptEmail(world, n % 2 ? account : paused, { to: people(20) })
  await pause(whole(paused))
  t.teardown(() => resume(whole(paused)))
  const claimed = (await Promise.all(Array.from({ length: 8 }, () => claim(100)))).flat()
  for (let more = await claim(400); more.length > 0; more = await claim(400)) claimed.push(...more)
  t.equal(claimed.length, 400)
  t.equal(new Set(claimed.map(({ id }) => id)).size, 400)
  t.strictSame([...new Set(claimed.map(({ account_id }) => account_id))], [account.id])
})

t.test('resuming an account does not release mail of its paused domain', async t => {
  const account = await newAccount(world)
  const id = await acceptEmail(world, account)
  const domain = { account_id: account.id, domain_id: account.domain_id }
  await pause(whole(account))
  await pause(domain)
  await claim()
  const work = openWork(t, world)
  for (const party of [whole(account), domain]) {
    t.strictSame(await claim(), [])
    await resume(party)
    await release_deliveries({}, work)
  }
  shows(t, await claim(), [{ email_id: id }])
})

t.test('the 72 hours until an email expires start again after a pause', async t => {
  const account = await newAccount(world)
  await acceptEmail(world, account)
  await query(`UPDATE emails SET created_at = now() - interval '100 hours'`)
  const attempt = async () => {
    const tokens = await claim()
    const deferred = { outcome: 'deferred', delay: 0, reason: 'Later.' } as const
    await settleDeliveries(
      pool,
      tokens.map(token => ({ ...token, ...deferred })),
    )
    return (await query('SELECT state FROM deliveries'))[0].state
  }
  await pausePlatform(pool, null)
  await resumePlatform(pool)
  t.equal(await attempt(), 'queued')
  await query('UPDATE platform SET resumed_at = NULL')
  await pause(whole(account))
  await claim()
  await resume(whole(account))
  await release_deliveries({}, openWork(t, world))
  t.equal(await attempt(), 'queued')
  await query('UPDATE deliveries SET resumed_at = NULL')
  t.equal(await attempt(), 'failed', 'without a pause')
})

const people = (count: number) => Array.from({ length: count }, (_, n) => `p${n}@y.com`)

function schedule(account: TestAccount): Promise<string> {
  return acceptEmail(world, account, { scheduled_at: new Date(Date.now() + 3_600_000).toJSON() })
}
