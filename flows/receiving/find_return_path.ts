import type { ReadTokenKeys } from '#flows/process/token_keys.ts'
import type { Config } from '#lib/config.ts'
import { parseUnsubscribeLocal } from '#lib/contacts/unsubscribe_token.ts'
import { parseAddress } from '#lib/mail/address.ts'
import { parseReturnPathLocal } from '#lib/mail/return_path.ts'
import { isWithin } from '#lib/net/domain_name.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'
import { findReportedDelivery, type ReportedDelivery } from '#sql/receiving/reports.ts'
import type { ReceivingParty } from './receive_email.ts'

type Places = { pool: Pool; config: Pick<Config, 'RETURN_PATH_DOMAIN'> }
type Dependencies = Places & { secrets: Secrets }

/**
 * Returns the delivery of a return path. Null if we have not signed it, or if it is at a domain to which its bounces
 * cannot return; those are RETURN_PATH_DOMAIN, the domain that the email was from, and the names below it.
 */
export function findReturnPath(
  { secrets, ...places }: Dependencies,
  address: string,
): Promise<ReportedDelivery | null> {
  return findDelivery(places, address, local => parseReturnPathLocal(local, secrets))
}

/** Form of addresses for mail to unsubscribe; the keys are read only for such addresses. */
const UNSUBSCRIBE_FORM = /^u-[a-z2-7]{42}@/i

/** Returns the delivery whose recipient unsubscribes by mail to this address; null as for return paths. */
export async function findUnsubscribing(
  { readTokenKeys, ...places }: Places & { readTokenKeys: ReadTokenKeys },
  address: string,
): Promise<ReportedDelivery | null> {
  if (!UNSUBSCRIBE_FORM.test(address)) return null
  const keys = await readTokenKeys()
  return findDelivery(places, address, local => parseUnsubscribeLocal(local, keys))
}

async function findDelivery(
  { pool, config }: Places,
  address: string,
  parseLocal: (local: string) => string | null,
): Promise<ReportedDelivery | null> {
  const parsed = parseAddress(address)
  const id = parsed && parseLocal(parsed.address.split('@', 1)[0] as string)
  const delivery = id && (await findReportedDelivery(pool, id))
  if (!delivery) return null
  const from = parseAddress(delivery.sender)?.domain
  const isOurs = parsed.domain === config.RETURN_PATH_DOMAIN || (from && isWithin(parsed.domain, from))
  return isOurs ? delivery : null
}

/**
 * Returns the account for a report or for mail to unsubscribe; null for any other address. The domain that the email
 * was from must still exist.
 */
export async function findReturnPathParty(
  dependencies: Dependencies & { readTokenKeys: ReadTokenKeys },
  address: string,
): Promise<ReceivingParty | null> {
  const delivery = (await findReturnPath(dependencies, address)) ?? (await findUnsubscribing(dependencies, address))
  if (!delivery?.domain_id) return null
  return { account_id: delivery.account_id, domain_id: delivery.domain_id, recipient: address.toLowerCase() }
}
