import type { JobPayload } from '#lib/jobs.ts'
import { addJobs } from '#sql/jobs.ts'
import type { Tx } from '#sql/pool.ts'

/** Priority of scheduled checks: they run after checks that were requested. */
export const LATER = 10

type ToCheck = { account_id: string; id: string }

export async function queueVerification(tx: Tx, domains: ToCheck[], priority = 0): Promise<void> {
  await queueChecks(tx, 'verify_domain', domains, ({ account_id, id }) => ({ account_id, domain_id: id }), priority)
}

export async function queueClaims(tx: Tx, claims: ToCheck[], priority = 0): Promise<void> {
  await queueChecks(tx, 'check_claim', claims, ({ account_id, id }) => ({ account_id, claim_id: id }), priority)
}

/**
 * Checks of one account run one after another: if the name servers of its domains are silent, it occupies only one of
 * many workers.
 */
async function queueChecks<Name extends 'verify_domain' | 'check_claim'>(
  tx: Tx,
  name: Name,
  checks: ToCheck[],
  payloadOf: (one: ToCheck) => JobPayload<Name>,
  priority: number,
): Promise<void> {
  const jobs = checks.map(one => ({
    payload: payloadOf(one),
    job_key: `${name}:${one.id}`,
    queue_name: `verify_domain:${one.account_id}`,
    priority,
  }))
  await addJobs(tx, name, jobs)
}
