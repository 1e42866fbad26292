import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { unlockDeadPools } from '#sql/process/worker_heartbeats.ts'

/** Frees the jobs of worker pools that are gone. */
export async function sweepPools(pool: Pool, log: Log, after_seconds: number): Promise<void> {
  const pool_ids = await unlockDeadPools(pool, after_seconds)
  if (pool_ids.length > 0) log.warn({ pool_ids }, 'jobs of dead workers were unlocked')
}
