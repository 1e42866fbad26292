import t from 'tap'
import { newId } from '#lib/ids.ts'
import { type ClaimedDelivery, claimDeliveries, settleDeliveries } from '#sql/delivery/deliveries.ts'
import { release_deliveries } from '#tasks/release_deliveries.ts'
import { send_campaign } from '#tasks/send_campaign.ts'
import {
  addContacts,
  figuresOf,
  queueCampaign,
  readCampaign,
  recipientsOf,
  sendUntil,
  setStatus,
} from '#test/support/campaigns.ts'
import { openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const work = openWork(t, world, 'capture')
/** Options for four recipients at a time, in two slices. */
const FEW = { slice: 2, ahead: 4 }

const people = (count: number) => Array.from({ length: count }, (_, n) => ({ email: `p${n}@b.com` }))
const claim = (limit = 100) => claimDeliveries(pool, { lease_owner: newId(), lease_seconds: 40, limit })
const settle = (claimed: ClaimedDelivery, outcome: 'delivered' | 'deferred') =>
  settleDeliveries(pool, [{ ...claimed, outcome }])

async function begin(count: number) {
  const account = await newAccount(world)
  await addContacts(world, account, people(count))
  const campaign = await queueCampaign(world, account)
  await send_campaign(campaign, { ...work, ...FEW })
  return campaign
}

t.test('a canceled campaign is not claimed any more, and what was left is canceled', async t => {
  const campaign = await begin(6)
  const [first, second, ...others] = (await claim(2)) as [ClaimedDelivery, ClaimedDelivery]
  t.strictSame(others, [])
  await setStatus(world, campaign, 'canceled')
  t.strictSame(await claim(), [])
  await settle(first, 'delivered')
  await settle(second, 'deferred')
  await send_campaign(campaign, work)

  t.strictSame(await figuresOf(world, campaign), { recipients: 6, sent: 1, delivered: 1, canceled: 5 })
  const { rows } = await pool.pg.query('SELECT state, count(*)::int FROM deliveries GROUP BY 1 ORDER BY 1')
  t.strictSame(rows, [
    { state: 'canceled', count: 3 },
    { state: 'delivered', count: 1 },
  ])
  const states = (await recipientsOf(world, campaign)).map(({ state }) => state)
  t.strictSame(states.sort(), ['c', 'c', 'm', 'm', 'm', 'm'])
  shows(t, await readCampaign(world, campaign), { status: 'canceled' })
})

t.test('a paused campaign is not claimed until it is resumed', async t => {
  const campaign = await begin(6)
  await setStatus(world, campaign, 'paused')
  t.strictSame(await claim(), [])
  const parked = `SELECT count(*)::int AS n FROM deliveries WHERE campaign_id = $1 AND next_at = 'infinity'`
  t.strictSame((await pool.pg.query(parked, [campaign.campaign_id])).rows, [{ n: 4 }])
  await release_deliveries({}, work)
  t.strictSame((await pool.pg.query(parked, [campaign.campaign_id])).rows, [{ n: 4 }], 'still paused')
  await send_campaign(campaign, work)
  t.strictSame(await figuresOf(world, campaign), { recipients: 6 })

  await setStatus(world, campaign, 'queued')
  await release_deliveries({}, work)
  await sendUntil(openWork(t, world, 'capture'), campaign)
  t.strictSame(await figuresOf(world, campaign), { recipients: 6, sent: 6, delivered: 6 })
})

t.test('a claim skips a locked campaign without waiting', async t => {
  const campaign = await begin(1)
  const other = await openTransaction(t, world)
  await other.query(`UPDATE campaigns SET status = 'paused' WHERE id = $1`, [campaign.campaign_id])
  t.strictSame(await claim(), [])
  await other.rollback()
  t.equal((await claim()).length, 1)
})

t.test('a canceled campaign is removed while the rest of it is canceled, without a deadlock', async t => {
  const campaign = await begin(2)
  await setStatus(world, campaign, 'canceled')
  // The removal locks the campaign, and then its runs.
  const removal = await openTransaction(t, world)
  await removal.query('SELECT FROM campaigns WHERE id = $1 FOR UPDATE', [campaign.campaign_id])
  const cleared = send_campaign(campaign, work)
  await untilBlocked(world, '%campaign%')
  await removal.query(`SET LOCAL lock_timeout = '200ms'`) // Postgres looks for deadlocks after a second
  await removal.query('DELETE FROM campaigns WHERE id = $1', [campaign.campaign_id])
  await removal.commit()
  await t.resolves(cleared)
})
