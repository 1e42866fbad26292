import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { deleteReplacedJobs, forgetFutureRuns, unlockDeadPools } from '#sql/process/worker_heartbeats.ts'

/** Frees the jobs of worker pools that are gone, and tasks that a worker with a wrong clock keeps from running. */
export async function sweepPools(pool: Pool, log: Log, after_seconds: number): Promise<void> {
  await deleteReplacedJobs(pool, after_seconds)
  const pool_ids = await unlockDeadPools(pool, after_seconds)
  if (pool_ids.length > 0) log.warn({ pool_ids }, 'jobs of dead workers were unlocked')
  const tasks = await forgetFutureRuns(pool)
  if (tasks > 0) log.warn({ tasks }, 'the clock of a worker is or was ahead of that of the database')
}
