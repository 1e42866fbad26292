import { type DomainStatus, isSendable } from '#lib/domains/domain_status.ts'
import { notFound } from '#lib/errors.ts'
import type { ListedDomain } from '#sql/domains/columns.ts'
import { countDomains, findConflict } from '#sql/domains/domain_conflicts.ts'
import { lockDomain, setDomainPending } from '#sql/domains/domains.ts'
import type { Pool, Queryable } from '#sql/pool.ts'
import { queueVerification } from './add_check_jobs.ts'
import { announceDomains } from './announce_domains.ts'
import { domainConflict, planLimit } from './create_domain.ts'

type Dependencies = { pool: Pool; config: { SERVER_DOMAIN: string } }

/**
 * Queues a verification of a domain; returns its status until then.
 *
 * @throws {ApiError} 404; `domain_conflict` or `plan_limit_reached` if it could not be verified whatever DNS has
 */
export async function requestVerification(
  { pool, config }: Dependencies,
  account_id: string,
  id: string,
): Promise<DomainStatus> {
  return pool.transaction(async tx => {
    const domain = await lockDomain(tx, account_id, id)
    if (!domain) throw notFound('Domain')
    await requireVerifiable(tx, account_id, domain)
    const { status } = domain
    if (domain.is_trusted && isSendable(status)) return status

    const is_begun = status !== 'not_started' && status !== 'failed'
    await queueVerification(tx, [{ account_id, id }])
    if (is_begun) return status
    await setDomainPending(tx, account_id, id)
    await announceDomains(tx, 'domain.updated', [{ account_id, id }], config.SERVER_DOMAIN)
    return 'pending'
  })
}

/** Checks that a domain may be verified. A sendable domain always may: checking it harms nobody. @throws {ApiError} */
export async function requireVerifiable(db: Queryable, account_id: string, domain: ListedDomain): Promise<void> {
  if (isSendable(domain.status)) return
  if (await findConflict(db, account_id, domain.name)) throw domainConflict(domain.name)
  const { domains, limit } = await countDomains(db, account_id)
  if (limit !== null && domains > limit) throw planLimit(limit)
}
