import { checkDueClaims, checkDueDomains } from '#flows/domains/queue_due_checks.ts'
import type { Task } from './task.ts'

/** Has DNS asked for the domains and claims whose time it is. */
export const check_domains: Task<'check_domains'> = async (_payload, { pool }) => {
  await checkDueDomains(pool)
  await checkDueClaims(pool)
}
