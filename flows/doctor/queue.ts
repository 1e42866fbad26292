import { about, type Finding } from '#lib/doctor/finding.ts'
import type { Pool } from '#sql/pool.ts'
import { type FailedJobs, findQueue, listFailedJobs, type Queue } from '#sql/process/doctor.ts'
import { countUnappliedReports } from '#sql/receiving/unapplied_reports.ts'
import { listPaused, type PausedParty } from '#sql/safety/pauses.ts'
import { findPlatform, type Platform } from '#sql/safety/platform.ts'

const WORKERS = about('workers')
const QUEUE = about('queue')
const JOBS = about('jobs')
const SENDING = about('sending')
const REPORTS = about('reports')

/** As in the worker's sweep: a worker that was not seen for this long is dead. */
const DEAD_SECONDS = 60

const LATE_MS = 5 * 60_000
const VERY_LATE_MS = 60 * 60_000

const MAX_PAUSED = 20

const REPORT_DAYS = 7
const MAX_REPORTS = 1000

export async function countWorkers(pool: Pool): Promise<number> {
  const { runners } = await findQueue(pool, DEAD_SECONDS)
  return Math.ceil(runners / 2)
}

/** Checks the workers, the queue, and anything that stops mail from being sent. */
export async function checkQueue(pool: Pool): Promise<Finding[]> {
  const queue = await findQueue(pool, DEAD_SECONDS)
  const platform = await findPlatform(pool)
  return [
    checkWorkers(queue),
    ...checkDue(queue, platform),
    ...checkHeld(queue),
    ...(await listFailedJobs(pool)).map(failedJobsFinding),
    checkReports(await countUnappliedReports(pool, REPORT_DAYS, MAX_REPORTS)),
    ...checkPlatform(platform),
    ...(await listPaused(pool, MAX_PAUSED)).map(pausedFinding),
  ]
}

function checkWorkers({ runners, due_since }: Queue): Finding {
  if (runners > 0) return WORKERS.ok(`${Math.ceil(runners / 2)} alive.`)
  const report = due_since ? WORKERS.problem : WORKERS.warning
  return report('None is alive: nothing is sent.', 'Run npm start, or in production the worker of the Procfile.')
}

function checkDue({ due_since, now }: Queue, { paused_at }: Platform): Finding[] {
  if (!due_since) return [QUEUE.ok('Nothing is due.')]
  const late = now.getTime() - due_since.getTime()
  const finding = `Email that is due has waited for up to ${duration(late)}.`
  if (late < LATE_MS || paused_at) return [QUEUE.ok(finding)]
  const report = late < VERY_LATE_MS ? QUEUE.warning : QUEUE.problem
  return [report(finding, 'Start more workers, or check their logs.')]
}

function checkHeld({ held }: Queue): Finding[] {
  if (held === 0) return []
  return [QUEUE.warning(`Messages that may have arrived, and wait for a person to decide (IN_DOUBT=hold): ${held}.`)]
}

/** Warns of bounces and complaints that had no effect: their recipients may get more mail. */
function checkReports(count: number): Finding {
  if (count === 0) return REPORTS.ok(`Every bounce and complaint of the last ${REPORT_DAYS} days was understood.`)
  const many = count < MAX_REPORTS ? `${count}` : `${MAX_REPORTS} or more`
  const finding = `${many} bounces and complaints of the last ${REPORT_DAYS} days had no effect.`
  return REPORTS.warning(finding, 'npm run admin -- report list')
}

function failedJobsFinding({ task, count, last_error }: FailedJobs): Finding {
  const retryStatement =
    'SELECT graphile_worker.reschedule_jobs(array_agg(id), run_at := now(), attempts := 0) FROM graphile_worker.jobs\n' +
    `  WHERE task_identifier = '${task}' AND attempts >= max_attempts;`
  const [line = ''] = (last_error ?? '').split('\n')
  return JOBS.warning(`${count} of ${task} have failed for good: ${line.slice(0, 200)}`, retryStatement)
}

function checkPlatform({ paused_at, pause_reason, is_transport_unusable, transport_fault }: Platform): Finding[] {
  const findings: Finding[] = []
  if (paused_at) {
    const reason = pause_reason ? `: ${pause_reason}` : ''
    findings.push(
      SENDING.warning(
        `It has been paused since ${paused_at.toISOString()}${reason}.`,
        'npm run admin -- sending resume',
      ),
    )
  }
  if (is_transport_unusable) {
    findings.push(
      SENDING.problem(`A worker cannot use the transport: ${transport_fault}`, 'Correct MAIL_TRANSPORT, and restart.'),
    )
  }
  return findings.length > 0 ? findings : [SENDING.ok('It is not paused.')]
}

function pausedFinding({ account, domain, paused_at, paused_by, pause_reason }: PausedParty): Finding {
  const party = domain ? `domain ${domain} of ${account}` : `account ${account}`
  const finding = `The ${party} has been paused since ${paused_at.toISOString()} by ${paused_by}${pause_reason ? `: ${pause_reason}` : ''}.`
  const resume = domain ? `domain resume ${domain} --account '${account}'` : `account resume '${account}'`
  return SENDING.warning(finding, `npm run admin -- ${resume}`)
}

function duration(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
}
