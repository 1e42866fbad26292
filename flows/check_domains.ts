import { claimDomainsToCheck } from '../sql/domain_verification.ts'
import { addJobs } from '../sql/jobs.ts'
import type { Pool } from '../sql/pool.ts'

/** Of one run: more are due again a minute later. */
const LIMIT = 500

/** What is due by itself comes after what somebody waits for. */
const PRIORITY = 10

/**
 * Has the domains checked that are due. Those of one account come one after another: when the name servers of one are
 * silent, that holds up nobody else.
 */
export async function checkDueDomains(pool: Pool): Promise<number> {
  return pool.transaction(async tx => {
    const due = await claimDomainsToCheck(tx, LIMIT)
    const jobs = due.map(({ account_id, id }) => ({
      payload: { account_id, domain_id: id },
      job_key: `verify_domain:${id}`,
      queue_name: `check_domains:${account_id}`,
      priority: PRIORITY,
    }))
    await addJobs(tx, 'verify_domain', jobs)
    return jobs.length
  })
}
