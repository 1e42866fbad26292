import { ApiError, notFound } from '#lib/errors.ts'
import { deleteDomain, lockDomain } from '#sql/domains/domains.ts'
import type { Pool } from '#sql/pool.ts'
import { announceDomains } from './announce_domains.ts'

type Dependencies = { pool: Pool; config: { SERVER_DOMAIN: string } }

/** Deletes a domain; mail that it sent stays. @throws {ApiError} 404; `reputation_paused` */
export async function removeDomain({ pool, config }: Dependencies, account_id: string, id: string): Promise<void> {
  await pool.transaction(async tx => {
    if (!(await lockDomain(tx, account_id, id))) throw notFound('Domain')
    await announceDomains(tx, 'domain.deleted', [{ account_id, id }], config.SERVER_DOMAIN)
    if (await deleteDomain(tx, account_id, id)) return
    // Added anew it would not be paused any more.
    throw new ApiError(
      'reputation_paused',
      'Sending is paused for this domain: it cannot be deleted until sending is resumed.',
    )
  })
}
