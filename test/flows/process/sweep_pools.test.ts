import t from 'tap'
import { sweepPools } from '#flows/process/sweep_pools.ts'
import { openWorld } from '#test/support/world.ts'

t.test('tasks of the crontab run again after a worker whose clock was ahead', async t => {
  const { pool, log } = await openWorld(t)
  const crontabs = 'graphile_worker._private_known_crontabs'
  await pool.pg.query(`
    INSERT INTO ${crontabs} (identifier, known_since, last_execution) VALUES
      ('purge', now(), now() + interval '1 day'), ('check_domains', now(), now() + interval '1 minute')
  `)
  await sweepPools(pool, log, 60)
  const { rows } = await pool.pg.query(`
    SELECT identifier FROM ${crontabs} WHERE last_execution < date_trunc('minute', now()) + interval '1 minute'
  `)
  t.strictSame(rows, [{ identifier: 'purge' }])
})
