import type { JobName, JobPayload } from '#lib/jobs.ts'
import { type Queryable, sql } from './pool.ts'

/**
 * Adds a job. It only wakes a worker; the rows define the work. `job_key`: of several waiting jobs with the same key,
 * only one runs. `when`: earliest time, or seconds from now.
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
  /** Jobs of one queue run one at a time. */
  queue_name: string
  /** Other jobs have 0; higher numbers run later. */
  priority: number
}

/**
 * Adds many jobs in one statement, since single ones would each wake every worker. A job that waits already keeps its
 * place.
 */
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
