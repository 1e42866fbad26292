import t from 'tap'
import { sweepPools } from '#flows/process/sweep_pools.ts'
import { newId } from '#lib/ids.ts'
import { addJob } from '#sql/jobs.ts'
import { listFailedJobs } from '#sql/process/doctor.ts'
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

t.test('a job of a dead worker that was added again is deleted, and does not count as failed', async t => {
  const { pool, log } = await openWorld(t)
  const add = (key: string) => addJob(pool, 'start_campaigns', {}, key)
  const lockAsDead = () =>
    pool.pg.query(`
      UPDATE graphile_worker._private_jobs
      SET attempts = attempts + 1, locked_by = 'dead', locked_at = now() - interval '2 minutes', updated_at = created_at - interval '1 hour'
    `)
  await add('replaced')
  await add('kept')
  await lockAsDead()
  await add('replaced')
  await sweepPools(pool, log, 60)
  const { rows } = await pool.pg.query('SELECT key, attempts, locked_by FROM graphile_worker.jobs ORDER BY key')
  t.strictSame(rows, [
    { key: 'kept', attempts: 1, locked_by: null },
    { key: 'replaced', attempts: 0, locked_by: null },
  ])
  t.strictSame(await listFailedJobs(pool), [])
})

t.test('a job that has killed a worker at each of its attempts still counts as failed', async t => {
  const { pool, log } = await openWorld(t)
  await addJob(pool, 'import_contacts', { account_id: newId(), import_id: newId() })
  await pool.pg.query(`
    UPDATE graphile_worker._private_jobs
    SET attempts = max_attempts, locked_by = 'dead', locked_at = now() - interval '2 minutes', updated_at = now() - interval '1 hour'
  `)
  await sweepPools(pool, log, 60)
  t.strictSame(await listFailedJobs(pool), [{ task: 'import_contacts', count: 1, last_error: null }])
})
