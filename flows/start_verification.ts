import { addJobs } from '../sql/jobs.ts'
import type { Queryable } from '../sql/pool.ts'

/** What is due by itself comes after what somebody waits for. */
export const LATER = 10

/**
 * Those of one account come one after another: when the name servers of its domains are silent, it occupies one worker
 * of many.
 */
export async function queueVerification(
  tx: Queryable,
  domains: { account_id: string; id: string }[],
  priority = 0,
): Promise<void> {
  const jobs = domains.map(({ account_id, id }) => ({
    payload: { account_id, domain_id: id },
    job_key: `verify_domain:${id}`,
    queue_name: `verify_domain:${account_id}`,
    priority,
  }))
  await addJobs(tx, 'verify_domain', jobs)
}

export async function queueClaims(
  tx: Queryable,
  claims: { account_id: string; id: string }[],
  priority = 0,
): Promise<void> {
  const jobs = claims.map(({ account_id, id }) => ({
    payload: { account_id, claim_id: id },
    job_key: `check_claim:${id}`,
    queue_name: `verify_domain:${account_id}`,
    priority,
  }))
  await addJobs(tx, 'check_claim', jobs)
}
