import { changePreferences } from '#flows/contacts/preferences/change_preferences.ts'
import { linkRequest } from '#flows/contacts/preferences/requests.ts'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import type { Config } from '#lib/config.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'
import type { EmailToParse } from '#sql/receiving/emails_to_parse.ts'
import { findUnsubscribing } from './find_return_path.ts'

type Work = { pool: Pool; secrets: Secrets; config: Pick<Config, 'RETURN_PATH_DOMAIN'> }

/**
 * Unsubscribes the recipient of an email for mail to its List-Unsubscribe address, whatever its content and sender:
 * only that recipient knows the address. Returns true if all addresses of the message were such addresses. May run
 * twice.
 */
export async function unsubscribeByEmail(
  work: Work,
  { account_id, received_for, client }: Pick<EmailToParse, 'account_id' | 'received_for' | 'client'>,
): Promise<boolean> {
  const readTokenKeys = createReadTokenKeys(work)
  let others = 0
  for (const address of received_for) {
    const delivery = await findUnsubscribing({ ...work, readTokenKeys }, address)
    if (delivery?.account_id !== account_id || delivery.domain_id === null) {
      others++
      continue
    }
    const { domain_id, email_id, topic_id, recipient } = delivery
    const token = { account_id, domain_id, email_id, topic_id, address: recipient.toLowerCase() }
    const origin = { how: 'email', source_id: email_id, client_address: client.address || null } as const
    await changePreferences(work.pool, token, before => linkRequest(token, before, 'opt_out'), origin)
  }
  return others === 0
}
