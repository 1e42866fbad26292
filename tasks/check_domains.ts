import { checkDueClaims, checkDueDomains } from '#flows/domains/queue_due_checks.ts'
import type { Task } from './task.ts'

/** Starts the DNS checks of the domains and claims that are due. */
export const check_domains: Task<'check_domains'> = async (_payload, { pool }) => {
  await checkDueDomains(pool)
  await checkDueClaims(pool)
}
