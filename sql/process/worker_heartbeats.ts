import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

export async function upsertHeartbeats(db: Queryable, pool_ids: string[]): Promise<void> {
  await db.run(sql.unsafe`
    INSERT INTO worker_heartbeats (pool_id) SELECT unnest(${sql.array(pool_ids, 'text')})
    ON CONFLICT (pool_id) DO UPDATE SET seen_at = now()
  `)
}

export async function deleteHeartbeats(db: Queryable, pool_ids: string[]): Promise<void> {
  await db.run(sql.unsafe`DELETE FROM worker_heartbeats WHERE pool_id = ANY(${sql.array(pool_ids, 'text')})`)
}

const Heartbeat = z.object({ pool_id: z.string(), seen_at: z.date() })
export type Heartbeat = z.infer<typeof Heartbeat>

/** Lists the runners that were last seen, newest first. */
export async function listHeartbeats(db: Queryable): Promise<Heartbeat[]> {
  return db.any(sql.type(Heartbeat)`SELECT pool_id, seen_at FROM worker_heartbeats ORDER BY seen_at DESC LIMIT 200`)
}

/** Counts the worker processes that were seen within `within_seconds`. Each has two pools, one per runner. */
export async function countLiveWorkers(db: Queryable, within_seconds: number): Promise<number> {
  const { workers } = await db.one(sql.type(z.object({ workers: z.int() }))`
    SELECT ceil(count(*) / 2.0)::integer AS workers FROM worker_heartbeats
    WHERE seen_at >= now() - make_interval(secs => ${within_seconds})
  `)
  return workers
}

/** Returns the condition that the pool of a job `j` is gone: it was not seen for `after_seconds`, or died before it was ever seen. */
function isOfDeadPool(after_seconds: number): FragmentSqlToken {
  const after = sql.fragment`make_interval(secs => ${after_seconds})`
  return sql.fragment`j.locked_by IS NOT NULL AND j.locked_at < now() - ${after} AND NOT EXISTS (
    SELECT FROM worker_heartbeats h WHERE h.pool_id = j.locked_by AND h.seen_at >= now() - ${after}
  )`
}

/**
 * Deletes the jobs of dead pools that were added again with the same key meanwhile. graphile-worker has taken the key and
 * all further attempts from such a job, so it would stay for ever as one that has failed.
 */
export async function deleteReplacedJobs(db: Queryable, after_seconds: number): Promise<void> {
  await db.run(sql.unsafe`
    DELETE FROM graphile_worker._private_jobs j
    WHERE ${isOfDeadPool(after_seconds)} AND j.key IS NULL AND j.attempts >= j.max_attempts
      AND j.updated_at > j.locked_at -- while a job is locked, only its replacement changes it
  `)
}

/**
 * Unlocks the jobs of dead pools, which graphile-worker itself would keep locked for 4 hours. Returns the pools that were
 * unlocked.
 */
export async function unlockDeadPools(db: Queryable, after_seconds: number): Promise<string[]> {
  const rows = await db.any(sql.type(z.object({ pool_id: z.string() }))`
    WITH gone AS (
      DELETE FROM worker_heartbeats WHERE seen_at < now() - make_interval(secs => ${after_seconds}) RETURNING pool_id
    ), dead AS (
      SELECT DISTINCT j.locked_by AS pool_id FROM graphile_worker.jobs j WHERE ${isOfDeadPool(after_seconds)}
    ), unlocked AS (
      SELECT graphile_worker.force_unlock_workers(array_agg(pool_id)) FROM dead HAVING count(*) > 0
    )
    SELECT pool_id FROM dead WHERE (SELECT count(*) FROM unlocked) >= 0
  `)
  return rows.map(row => row.pool_id)
}

/**
 * Lets tasks of the crontab run again whose last run is still to come. graphile-worker goes by the clock of the machine:
 * after a worker whose clock was a day ahead, no worker would run them for a day. Returns how many tasks.
 */
export async function forgetFutureRuns(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`
    UPDATE graphile_worker._private_known_crontabs SET last_execution = now()
    WHERE last_execution > now() + interval '5 minutes'
  `)
}
