import { clearRuns } from '#flows/automations/definitions/clear_runs.ts'
import type { Task } from './task.ts'

/** After each stop and each deletion, and by the clock, for what these have missed. */
export const clear_runs: Task<'clear_runs'> = (_payload, { pool }) => clearRuns(pool)
