import type { Config } from '#lib/config.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { parseReturnPathLocal } from '#lib/mail/return_path.ts'
import { isWithin } from '#lib/net/domain_name.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'
import { findReportedDelivery, type ReportedDelivery } from '#sql/receiving/reports.ts'
import type { ReceivingParty } from './receive_email.ts'

type Dependencies = { pool: Pool; secrets: Secrets; config: Pick<Config, 'RETURN_PATH_DOMAIN'> }

/**
 * The delivery whose return path this is. Null: nothing that we have signed, or not at a domain that its bounces can come
 * back to: RETURN_PATH_DOMAIN, the domain it was from, or a label below that.
 */
export async function findReturnPath(
  { pool, secrets, config }: Dependencies,
  address: string,
): Promise<ReportedDelivery | null> {
  const parsed = parseAddress(address)
  const id = parsed && parseReturnPathLocal(parsed.address.replace(/@.*$/, ''), secrets)
  const delivery = id && (await findReportedDelivery(pool, id))
  if (!delivery) return null
  const from = parseAddress(delivery.sender)?.domain
  const isOurs = parsed.domain === config.RETURN_PATH_DOMAIN || (from && isWithin(parsed.domain, from))
  return isOurs ? delivery : null
}

/** Whose report comes to this address; null when it is no return path. The domain that it was from must still be there. */
export async function findReturnPathParty(dependencies: Dependencies, address: string): Promise<ReceivingParty | null> {
  const delivery = await findReturnPath(dependencies, address)
  if (!delivery?.domain_id) return null
  return { account_id: delivery.account_id, domain_id: delivery.domain_id, recipient: address.toLowerCase() }
}
