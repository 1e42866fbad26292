import { startScheduled } from '#flows/campaigns/start_scheduled.ts'
import type { Task } from './task.ts'

/** Runs at the time of each scheduled campaign, and every minute for campaigns that were missed. */
export const start_campaigns: Task<'start_campaigns'> = (_payload, work) => startScheduled(work)
