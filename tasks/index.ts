import type { TaskList } from 'graphile-worker'
import { type JobName, jobs } from '#lib/jobs.ts'
import { advance_runs } from './advance_runs.ts'
import { check_claim } from './check_claim.ts'
import { check_domains } from './check_domains.ts'
import { check_reputation } from './check_reputation.ts'
import { clear_runs } from './clear_runs.ts'
import { count_segment } from './count_segment.ts'
import { deliver_webhooks } from './deliver_webhooks.ts'
import { import_contacts } from './import_contacts.ts'
import { judge_early_clicks } from './judge_early_clicks.ts'
import { parse_email } from './parse_email.ts'
import { process_batch } from './process_batch.ts'
import { purge } from './purge.ts'
import { release_deliveries } from './release_deliveries.ts'
import { remove_leftovers } from './remove_leftovers.ts'
import { report_limited_runs } from './report_limited_runs.ts'
import { rotate_dkim_keys } from './rotate_dkim_keys.ts'
import { send_campaign } from './send_campaign.ts'
import { send_emails } from './send_emails.ts'
import { start_campaigns } from './start_campaigns.ts'
import type { Task, Work } from './task.ts'
import { unsubscribe_unreachable } from './unsubscribe_unreachable.ts'
import { verify_domain } from './verify_domain.ts'

/** Every task by the name of its job. */
const tasks: { [Name in JobName]: Task<Name> } = {
  send_emails,
  deliver_webhooks,
  process_batch,
  verify_domain,
  parse_email,
  judge_early_clicks,
  check_claim,
  check_domains,
  rotate_dkim_keys,
  purge,
  check_reputation,
  release_deliveries,
  import_contacts,
  remove_leftovers,
  start_campaigns,
  report_limited_runs,
  count_segment,
  send_campaign,
  unsubscribe_unreachable,
  clear_runs,
  advance_runs,
}

/** The two runners of a worker process (workers/worker.ts). */
export type RunnerName = 'quick' | 'slow'

/**
 * Tasks that only run short SQL, and are fetched many at a time. All others use the network, parse much data or run long
 * statements, and would delay these in a local queue.
 */
const QUICK = new Set<JobName>([
  'send_emails',
  'deliver_webhooks',
  'process_batch',
  'judge_early_clicks',
  'import_contacts',
  'start_campaigns',
  'advance_runs',
])

/** Returns the tasks of one runner in the form that graphile-worker takes. They check their payloads. */
export function taskList(runner: RunnerName, work: Work): TaskList {
  const names = (Object.keys(tasks) as JobName[]).filter(name => QUICK.has(name) === (runner === 'quick'))
  return Object.fromEntries(names.map(name => [name, (payload: unknown) => run(name, payload, work)]))
}

async function run<Name extends JobName>(name: Name, payload: unknown, work: Work): Promise<void> {
  // The cast is safe: schema and task have the same name, which the compiler cannot infer.
  await (tasks[name] as (payload: unknown, work: Work) => Promise<void>)(jobs[name].parse(payload), work)
}
