import type { JobName, JobPayload } from '#lib/jobs.ts'
import { type Queryable, sql } from './pool.ts'

/**
 * A nudge; the rows say what is to be done. `job_key`: of several that wait, one runs. `when`: not before that time, or not
 * before so many seconds have passed.
 */
export async function addJob<Name extends JobName>(
  db: Queryable,
  name: Name,
  payload: JobPayload<Name>,
  job_key: string | null = null,
  when: Date | number = 0,
): Promise<void> {
  const at =
    typeof when === 'number'
      ? sql.fragment`now() + make_interval(secs => ${when})`
      : sql.fragment`${when.toISOString()}::timestamptz`
  await db.run(sql.unsafe`
    SELECT graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::json, job_key => ${job_key},
      run_at => ${at}, max_attempts => job_attempts(),
      priority => job_priority(${name}))
  `)
}

export type NewJob<Name extends JobName> = {
  payload: JobPayload<Name>
  job_key: string
  /** Of jobs of one queue one runs at a time. */
  queue_name: string
  /** 0 is that of others; what is higher runs later. */
  priority: number
}

/** Many in one statement: each by itself would wake up every worker. One that waits already keeps its turn. */
export async function addJobs<Name extends JobName>(
  db: Queryable,
  identifier: Name,
  jobs: NewJob<Name>[],
): Promise<void> {
  if (jobs.length === 0) return
  const specs = jobs.map(job => ({ ...job, identifier }))
  await db.run(sql.unsafe`
    SELECT graphile_worker.add_jobs(array_agg(spec), true)
    FROM json_populate_recordset(
      json_populate_record(NULL::graphile_worker.job_spec, json_build_object('max_attempts', job_attempts())),
      ${JSON.stringify(specs)}::json
    ) AS spec
  `)
}
