import pg from 'pg'
import { countStates, waitForNone } from '#test/faults/support/deliveries.ts'
import { feed, type Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

type Options = { jobs: number; kills: number }

const FREED_MS = 15_000

/**
 * A worker is killed while it holds jobs, some of a named queue. graphile-worker would keep them locked for four hours; another
 * worker unlocks them as soon as the heartbeat of the dead one is old.
 */
export async function killWithJobs(stage: Stage, { jobs, kills }: Options): Promise<Report> {
  const report = new Report()
  const sink = await stage.startSink()
  const environment = { MAIL_TRANSPORT: sink.url, LOG_LEVEL: 'error' }
  const locked: number[] = []
  const freed_after: number[] = []
  for (let kill = 0; kill < kills; kill++) {
    await feed(stage, jobs, kill * jobs)
    await addJobs(stage, jobs)
    const victim = stage.start('test/faults/support/worker.ts', environment)
    const release = await holdTable(stage)
    const pools = await waitForLocks(stage)
    locked.push(await countLocks(stage, pools))
    victim.kill('SIGKILL')
    await victim.ended
    const heir = stage.start('test/faults/support/worker.ts', environment)
    await heir.says(/^ready$/)
    await release()
    const start = performance.now()
    const freed = waitUntil(
      async () => (await countLocks(stage, pools)) === 0,
      `kill ${kill}: no job is locked by who is dead`,
      FREED_MS,
    )
    await freed.catch(error => report.expect(false, error.message))
    freed_after.push(Math.round(performance.now() - start))
    await waitForNone(stage, ['queued', 'sending'])
    await heir.stop()
  }
  const { delivered } = await countStates(stage)
  report.note({ jobs: jobs * kills, kills, locked_at_kill: locked, freed_after_ms: freed_after })
  report.expect(Math.min(...locked) > 0, 'no jobs were locked when a worker was killed')
  report.expect(delivered === jobs * kills, `${delivered} of ${jobs * kills} were delivered`)
  await report.consult(stage, { sent: sink.ledger.read() })
  return report
}

/** Adds jobs for the newest emails, every other one in a named queue. */
export async function addJobs(stage: Stage, limit: number): Promise<void> {
  await stage.pool.pg.query(
    `SELECT graphile_worker.add_job('send_emails', json_build_object('email_ids', json_build_array(email_id)),
       queue_name => CASE WHEN n % 2 = 0 THEN 'named' END, max_attempts => 5)
     FROM (SELECT email_id, row_number() OVER () AS n FROM deliveries ORDER BY id DESC LIMIT $1) AS newest`,
    [limit],
  )
}

/** Makes claims wait, so that jobs last. Returns a function that lets them continue. */
export async function holdTable(stage: Stage): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString: stage.url })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE deliveries IN SHARE MODE')
  return async () => {
    await holder.query('COMMIT')
    await holder.end()
  }
}

/** Returns the pools that hold jobs, once there are any. */
export async function waitForLocks(stage: Stage): Promise<string[]> {
  const list = async () => {
    const { rows } = await stage.pool.pg.query<{ pool: string }>(
      'SELECT DISTINCT locked_by AS pool FROM graphile_worker.jobs WHERE locked_by IS NOT NULL',
    )
    return rows.length > 0 && rows.map(row => row.pool)
  }
  return waitUntil(list, 'a job is locked')
}

async function countLocks(stage: Stage, pools: string[]): Promise<number> {
  const { rows } = await stage.pool.pg.query(
    `SELECT (SELECT count(*) FROM graphile_worker.jobs WHERE locked_by = ANY($1))::int
       + (SELECT count(*) FROM graphile_worker._private_job_queues WHERE locked_by = ANY($1))::int AS count`,
    [pools],
  )
  return rows[0].count
}

/** node test/faults/locked_jobs.ts [--jobs 100] [--kills 5] */
if (import.meta.main) {
  const options = readOptions({ jobs: 100, kills: 3 })
  await runCampaign('kill -9 of a worker that holds jobs', stage => killWithJobs(stage, options))
}
