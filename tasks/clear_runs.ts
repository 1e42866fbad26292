import { clearRuns } from '#flows/automations/definitions/clear_runs.ts'
import type { Task } from './task.ts'

/** Runs after each stop and each deletion of an automation, and every 5 minutes for those that were missed. */
export const clear_runs: Task<'clear_runs'> = (_payload, { pool }) => clearRuns(pool)
