import type { Task } from './task.ts'

/** When events have started runs or woken them. What is due later is found by polling. */
export const advance_runs: Task<'advance_runs'> = (_payload, { automations }) => automations.advance()
