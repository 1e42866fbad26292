import { listLimitedAccounts } from '#sql/events/run_usage.ts'
import type { Task } from './task.ts'

/** Reports once an hour, and not for each event, since a quota may prevent thousands of runs. */
export const report_limited_runs: Task<'report_limited_runs'> = async (_payload, { pool, log }) => {
  for (const limited of await listLimitedAccounts(pool)) {
    log.warn(limited, 'the quota of an account kept events from starting automation runs in the last hour')
  }
}
