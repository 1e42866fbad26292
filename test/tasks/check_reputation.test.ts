import t from 'tap'
import { v7 as uuid } from 'uuid'
import { claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { insertDkimKeys } from '#sql/domains/dkim_keys.ts'
import { insertDomain } from '#sql/domains/domains.ts'
import { listPaused, resumeParty } from '#sql/safety/pauses.ts'
import { check_reputation } from '#tasks/check_reputation.ts'
import { acceptEmail, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { PAUSE_BOUNCE_RATE: '10', PAUSE_COMPLAINT_RATE: '0.5' })
const { pool } = world
const work = openWork(t, world, 'capture')
const check = (rates = {}) => check_reputation({}, { ...work, config: { ...world.config, ...rates } })
const query = (text: string, values: unknown[] = []) => pool.pg.query(text, values).then(result => result.rows)

type Outcomes = { delivered?: number; bounced?: number; complained?: number }

/** Sends emails to this many recipients for each outcome. */
async function send(account: TestAccount, outcomes: Outcomes, domain = 'y.com'): Promise<void> {
  const wanted = (['delivered', 'bounced', 'complained'] as const).flatMap(outcome =>
    Array.from({ length: outcomes[outcome] ?? 0 }, () => outcome),
  )
  while (wanted.length > 0) {
    const part = wanted.splice(0, 50)
    const id = await acceptEmail(world, account, { to: part.map(() => `${uuid()}@${domain}`) })
    const claimed = await claimDeliveries(pool, { lease_owner: uuid(), lease_seconds: 40, limit: 50, email_ids: [id] })
    await settleDeliveries(
      pool,
      claimed.map((delivery, n) => ({ ...delivery, outcome: part[n] as 'delivered' })),
    )
  }
}

/** Another domain of an account. */
async function addDomain(account: TestAccount): Promise<TestAccount> {
  const domain = `other.${account.domain}`
  const row = {
    account_id: account.id,
    id: uuid(),
    domain_id: uuid(),
    selector: 'mb1',
    algorithm: 'rsa-sha256' as const,
  }
  await pool.transaction(async tx => {
    await insertDomain(tx, { account_id: account.id, id: row.domain_id, name: domain, status: 'verified' })
    await insertDkimKeys(tx, [{ ...row, public_key: '', private_key: Buffer.of() }])
  })
  return { ...account, domain, domain_id: row.domain_id }
}

const pausedOf = async ({ id }: TestAccount) =>
  (await listPaused(pool, 100)).filter(({ account }) => account === `account ${id}`)

t.test('an account above the bounce rate is paused', async t => {
  const [good, bad, small] = [await newAccount(world), await newAccount(world), await newAccount(world)]
  await send(good, { delivered: 180, bounced: 20 })
  await send(bad, { delivered: 179, bounced: 21 })
  await send(small, { bounced: 199 })
  await check({ PAUSE_BOUNCE_RATE: 0 })
  t.strictSame(await listPaused(pool, 100), [], '0 turns it off')
  await check()
  t.strictSame(await pausedOf(good), [])
  t.strictSame(await pausedOf(small), [], 'too few emails for a rate')
  const reason = '21 of the last 200 recipients bounced.'
  shows(t, await pausedOf(bad), [{ domain: null, paused_by: 'bounces', pause_reason: reason }])
  await t.rejects(acceptEmail(world, bad), { name: 'reputation_paused' })
})

t.test('complaints have their own rate', async t => {
  const account = await newAccount(world)
  await send(account, { delivered: 199, complained: 1 })
  await check()
  t.strictSame(await pausedOf(account), [])
  await send(account, { complained: 1 })
  await check()
  const reason = '2 of the last 201 recipients complained.'
  shows(t, await pausedOf(account), [{ paused_by: 'complaints', pause_reason: reason }])
})

t.test('a domain is paused alone while its account is below the rate', async t => {
  const account = await newAccount(world)
  const other = await addDomain(account)
  await send(account, { delivered: 400 })
  await send(other, { delivered: 160, bounced: 40 })
  await check()
  shows(t, await pausedOf(account), [{ domain: other.domain, paused_by: 'bounces' }])
  t.equal((await pausedOf(account)).length, 1)
  await send(account, { delivered: 1, bounced: 40 })
  await check()
  t.equal((await pausedOf(account)).length, 1, 'emails of a paused domain do not count for the account')
})

t.test('emails of a deleted domain count for the account', async t => {
  const account = await newAccount(world)
  await send(account, { delivered: 150, bounced: 50 })
  await query('DELETE FROM domains WHERE id = $1', [account.domain_id])
  await check()
  shows(t, await pausedOf(account), [{ domain: null, paused_by: 'bounces' }])
})

t.test('emails sent before the operator resumed do not count again', async t => {
  const account = await newAccount(world)
  await send(account, { bounced: 250 })
  await check()
  t.equal((await pausedOf(account)).length, 1)
  await pool.transaction(tx => resumeParty(tx, { account_id: account.id, domain_id: null }))
  await check()
  t.strictSame(await pausedOf(account), [])
  await send(account, { bounced: 200 })
  await check()
  t.equal((await pausedOf(account)).length, 1)
})

t.test('simulated outcomes and emails older than a day do not count', async t => {
  const [account, old] = [await newAccount(world), await newAccount(world)]
  await send(account, { bounced: 200, complained: 50 }, world.config.SIMULATOR_DOMAIN)
  await send(old, { bounced: 200 })
  for (const { id } of await query('SELECT id FROM emails WHERE account_id = $1', [old.id])) await age(id)
  await check()
  t.strictSame([...(await pausedOf(account)), ...(await pausedOf(old))], [])
})

/** Makes it a day old: the time of acceptance is in its id. */
async function age(id: string): Promise<void> {
  const day = uuid({ msecs: Date.now() - 86_401_000 })
  await query(
    `INSERT INTO emails SELECT (jsonb_populate_record(e, jsonb_build_object('id', $2::uuid))).* FROM emails e WHERE id = $1`,
    [id, day],
  )
  await query('UPDATE deliveries SET email_id = $2 WHERE email_id = $1', [id, day])
}
