import t from 'tap'
import { newId } from '#lib/ids.ts'
import { addJob, addJobs } from '#sql/jobs.ts'
import { storeMessages } from '#test/support/receiving.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)

/** Removes and returns the jobs added since the last call. */
async function takeJobs() {
  const { rows } = await pool.pg.query(`
    SELECT task_identifier AS task, priority, max_attempts FROM graphile_worker.jobs ORDER BY id
  `)
  await pool.pg.query('TRUNCATE graphile_worker._private_jobs')
  return rows
}

t.test('addJob, addJobs and SQL give a job the same attempts and priority', async t => {
  const parse = { task: 'parse_email', priority: 20, max_attempts: 5 }
  await takeJobs()
  await addJob(pool, 'parse_email', { ids: [] })
  await storeMessages(world, account, [Buffer.from('Subject: x\r\n\r\nx')])
  t.strictSame(await takeJobs(), [parse, parse])

  await addJob(pool, 'purge', {})
  const payload = { account_id: account.id, domain_id: newId() }
  await addJobs(pool, 'verify_domain', [{ payload, job_key: 'a', queue_name: 'q', priority: 10 }])
  t.strictSame(await takeJobs(), [
    { task: 'purge', priority: 0, max_attempts: 5 },
    { task: 'verify_domain', priority: 10, max_attempts: 5 },
  ])
})
