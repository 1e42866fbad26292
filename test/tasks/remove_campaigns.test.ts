import t from 'tap'
import { isLockTimeout } from '#sql/retry.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { queueCampaign } from '#test/support/campaigns.ts'
import { openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const work = openWork(t, world)
const { pg } = world.pool

t.test('a campaign whose figures are being counted is removed with its domain, after a deadlock too', async t => {
  const { campaign_id } = await queueCampaign(world, account)
  const named = [account.id, campaign_id]
  await pg.query(
    `INSERT INTO campaign_counts (account_id, campaign_id, run, variant, name, shard, count)
     VALUES ($1, $2, 1, 0, 'sent', 0, 1)`,
    named,
  )
  await pg.query('DELETE FROM domains WHERE account_id = $1 AND id = $2', [account.id, account.domain_id])
  // Counting locks a count, and then its campaign if a count is new; the removal locks them the other way round.
  const counting = await openTransaction(t, world)
  await counting.query('UPDATE campaign_counts SET count = 2 WHERE account_id = $1 AND campaign_id = $2', named)
  const remove = () => remove_leftovers({ of: 'domain', account_id: account.id, id: account.domain_id }, work)
  // A job that fails is run again; this one fails if the machine stands still for 3 seconds.
  const removed = remove().catch(error => (isLockTimeout(error) ? remove() : Promise.reject(error)))
  await untilBlocked(world, '%DELETE FROM campaigns%')
  const counted = counting.query('SELECT FROM campaigns WHERE account_id = $1 AND id = $2 FOR KEY SHARE', named)
  // Postgres ends one of the two: the removal, which waits longer, unless the machine stood still for a second.
  await Promise.allSettled([counted.finally(counting.commit), removed])
  await t.resolves(removed)
  t.strictSame((await pg.query('SELECT id FROM campaigns WHERE account_id = $1', [account.id])).rows, [])
})
