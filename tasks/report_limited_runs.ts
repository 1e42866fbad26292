import { listLimitedAccounts } from '#sql/events/run_usage.ts'
import type { Task } from './task.ts'

/** Once an hour, since the events of ours that a quota keeps from starting runs may be thousands. */
export const report_limited_runs: Task<'report_limited_runs'> = async (_payload, { pool, log }) => {
  for (const limited of await listLimitedAccounts(pool)) {
    log.warn(limited, 'the quota of an account kept events from starting automation runs in the last hour')
  }
}
