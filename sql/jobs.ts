import type { JobName, JobPayload } from '../lib/jobs.ts'
import { type Queryable, sql } from './pool.ts'

/** A nudge; the rows say what is to be done. `job_key`: of several that wait, one runs. */
export async function addJob<Name extends JobName>(
  db: Queryable,
  name: Name,
  payload: JobPayload<Name>,
  job_key: string | null = null,
): Promise<void> {
  await db.run(sql.unsafe`
    SELECT graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, job_key => ${job_key}, max_attempts => 5)
  `)
}
