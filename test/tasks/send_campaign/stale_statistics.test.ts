import t, { type Test } from 'tap'
import { newId } from '#lib/ids.ts'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { createPool, type Pool } from '#sql/pool.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import { addContacts, queueCampaign } from '#test/support/campaigns.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const COUNT = 1_000

/** A pool with one connection to a database whose statistics say that these tables are empty. */
async function openEmpty(t: Test): Promise<Pool> {
  await world.pool.pg.query('DELETE FROM deliveries; DELETE FROM campaign_recipients')
  for (const table of ['deliveries', 'campaign_recipients']) {
    await world.pool.pg.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
    await world.pool.pg.query(`VACUUM ANALYZE ${table}`)
  }
  const pool = createPool(world.config.DATABASE_URL as string, { max: 1 })
  t.teardown(() => pool.end())
  return pool
}

async function queue(pool: Pool) {
  const account = await newAccount(world)
  await addContacts(
    world,
    account,
    Array.from({ length: COUNT }, (_, n) => `p${n}@b.com`),
  )
  const campaign = await queueCampaign(world, account)
  const work = { ...openWork(t, world, 'capture'), pool, slice: COUNT / 10 }
  return () => send_campaign(campaign, work)
}

/** Rows that the only connection of a pool has read through indexes of a table. */
async function rowsRead({ pg }: Pool, table: string): Promise<number> {
  await pg.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await pg.query('SELECT idx_tup_fetch::int AS count FROM pg_stat_user_tables WHERE relname = $1', [
    table,
  ])
  return rows[0].count
}

t.test('a claim reads only what it claims, even with stale statistics', async t => {
  const pool = await openEmpty(t)
  const claim = () => claimDeliveries(pool, { lease_owner: newId(), lease_seconds: 40, limit: 10 })
  t.equal((await claim()).length, 0) // creates the plan
  await (await queue(world.pool))()
  const before = await rowsRead(pool, 'deliveries')
  t.equal((await claim()).length, 10)
  const read = (await rowsRead(pool, 'deliveries')) - before
  t.ok(read < COUNT / 2, `it read ${read} rows`)
})

t.test('a campaign reads only the recipients it stores, even with stale statistics', async t => {
  const pool = await openEmpty(t)
  const send = await queue(pool)
  const before = await rowsRead(pool, 'campaign_recipients')
  await send()
  const read = (await rowsRead(pool, 'campaign_recipients')) - before
  t.ok(read < 5 * COUNT, `they read ${read} rows`)
})
