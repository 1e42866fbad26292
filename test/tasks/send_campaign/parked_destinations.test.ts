import t from 'tap'
import { newId } from '#lib/ids.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { createPool, type Pool } from '#sql/pool.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { addContacts, queueCampaign } from '#test/support/campaigns.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
/** More destinations than two claims look at. */
const PARKED = 5_000

async function queueMail(...domains: string[]): Promise<string> {
  const account = await newAccount(world)
  await addContacts(
    world,
    account,
    domains.map(domain => `p@${domain}`),
  )
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, openWork(t, world, 'capture'))
  return campaign.campaign_id
}

/** Queues mail to other destinations, from m00001.com on: copies of a delivery that is claimed. */
async function queueCopies(count: number, next_at: string): Promise<void> {
  await world.pool.pg.query(
    `INSERT INTO deliveries SELECT copy.* FROM deliveries d CROSS JOIN generate_series(1, $2) AS n
     CROSS JOIN LATERAL jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'recipient', 'p' || n,
       'destination', format('m%s.com', lpad(n::text, 5, '0')), 'next_at', $3::timestamptz)) AS copy
     WHERE d.campaign_id = $1`,
    [await queueMail('m.com'), count, next_at],
  )
  await claimFrom(world.pool, 1)
  await world.pool.pg.query('ANALYZE deliveries')
}

async function claimFrom(pool: Pool, limit: number): Promise<string[]> {
  const lease = { lease_owner: newId(), lease_seconds: 40, busy_destinations: ['busy.com'] }
  return (await claimDeliveries(pool, { ...lease, limit })).map(({ destination }) => destination)
}

t.beforeEach(() => world.pool.pg.query('DELETE FROM deliveries'))

t.test('parked mail to many destinations hides no due mail for longer than a few claims', async t => {
  await queueCopies(PARKED, 'infinity')
  const pool = createPool(world.config.DATABASE_URL as string, { max: 1 })
  t.teardown(() => pool.end())
  const domains = ['a.com', 'm02500a.com', 'm05000a.com', 'z.com']
  for (const domain of domains) {
    await queueMail(domain)
    const claimed = []
    for (let n = 0; n < 4; n++) claimed.push(...(await claimFrom(pool, 10)))
    t.strictSame(claimed, [domain])
  }
})

t.test('claims take turns with destinations, and read no more than these', async t => {
  await queueCopies(300, '2999-01-01')
  const domains = ['a.com', 'm00100a.com', 'm00200a.com', 'z.com']
  await queueMail(...domains, 'busy.com')
  const { pool, statements } = await openPlannedPool(t, world, 1)
  const claimed = []
  for (let n = 0; n < 4; n++) claimed.push(...(await claimFrom(pool, 1)))
  t.strictSame(claimed.sort(), domains)
  t.strictSame(await claimFrom(pool, 1), [])
  const steps = statements.filter(({ text }) => text.includes('d.destination > place'))
  t.ok(steps.length > 300)
  t.strictSame([Math.max(...steps.map(step => step.discarded)), Math.max(...steps.map(step => step.passed))], [0, 1])
})
