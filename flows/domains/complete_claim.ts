import { deleteDkimKeys, insertDkimKeys, type NewDkimKey } from '#sql/domains/dkim_keys.ts'
import { setDomainPending } from '#sql/domains/domains.ts'
import { failNameOwner, type NameOwner } from '#sql/domains/name_owners.ts'
import { closeClaim, type OpenClaim, supersedeClaims } from '#sql/domains/open_claims.ts'
import type { Tx } from '#sql/pool.ts'
import { queueVerification } from './add_check_jobs.ts'
import { announceDomains } from './announce_domains.ts'

/** `of`: the other account's domain; undefined if there is none. `keys`: of both domains. */
export type HandoverKeys = { of: string | undefined; keys: NewDkimKey[] }

/** Hands a name over. `owner`: the other account's domain, which can no longer send. */
export async function completeClaim(
  tx: Tx,
  claim: OpenClaim,
  owner: NameOwner | null,
  { keys }: HandoverKeys,
  server_domain: string,
): Promise<void> {
  const { account_id, domain_id } = claim
  if (owner) {
    await failNameOwner(tx, owner)
    await deleteDkimKeys(tx, owner.account_id, owner.id)
  }
  await supersedeClaims(tx, claim)
  await deleteDkimKeys(tx, account_id, domain_id)
  await insertDkimKeys(tx, keys)
  await setDomainPending(tx, account_id, domain_id)
  await queueVerification(tx, [{ account_id, id: domain_id }])
  await closeClaim(tx, claim, 'completed')
  const changed = [...(owner ? [owner] : []), { account_id, id: domain_id }]
  await announceDomains(tx, 'domain.updated', changed, server_domain)
}
