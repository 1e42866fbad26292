import type { Task } from './task.ts'

/** Tells the worker that runs are due. Each transaction that starts or wakes runs adds this job; one pass serves many. */
export const advance_runs: Task<'advance_runs'> = async (_payload, { automations }) => automations.nudge()
