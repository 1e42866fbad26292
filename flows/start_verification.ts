import type { DomainStatus } from '../lib/domain_status.ts'
import { updateToPending } from '../sql/domain_verification.ts'
import { addJob } from '../sql/jobs.ts'
import type { Queryable } from '../sql/pool.ts'

/** Has a domain verified, soon. Answers its status until then; null: there is no such domain. */
export async function startVerification(tx: Queryable, account_id: string, id: string): Promise<DomainStatus | null> {
  const status = await updateToPending(tx, account_id, id)
  if (status) await addJob(tx, 'verify_domain', { account_id, domain_id: id }, `verify_domain:${id}`)
  return status
}
