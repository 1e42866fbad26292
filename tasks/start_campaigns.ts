import { startScheduled } from '#flows/campaigns/start_scheduled.ts'
import type { Task } from './task.ts'

/** At the time of each scheduled campaign, and every minute for what that has missed. */
export const start_campaigns: Task<'start_campaigns'> = (_payload, work) => startScheduled(work)
