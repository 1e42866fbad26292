import type { Task } from './task.ts'

/** Tells the worker that runs are due: each transaction that starts or wakes some adds a job, and one pass serves many. */
export const advance_runs: Task<'advance_runs'> = async (_payload, { automations }) => automations.nudge()
