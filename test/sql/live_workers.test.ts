import t from 'tap'
import { countLiveWorkers, upsertHeartbeats } from '#sql/process/worker_heartbeats.ts'
import { openWorld } from '#test/support/world.ts'

const { pool } = await openWorld(t)

t.test('a worker counts as alive while both its pools send heartbeats', async t => {
  t.equal(await countLiveWorkers(pool, 60), 0)
  await upsertHeartbeats(pool, ['a', 'b', 'c', 'd'])
  t.equal(await countLiveWorkers(pool, 60), 2)
  await pool.pg.query(`UPDATE worker_heartbeats SET seen_at = now() - interval '61 s' WHERE pool_id IN ('a', 'b')`)
  t.equal(await countLiveWorkers(pool, 60), 1)
})
