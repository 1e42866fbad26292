import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import type { Config } from '#lib/config.ts'
import { unsubscribeLocal, writeUnsubscribeToken } from '#lib/contacts/unsubscribe_token.ts'
import type { Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'

/** One recipient of an email. */
export type UnsubscribingRecipient = {
  account_id: string
  /** The domain that the email is from; its contacts include the recipient, or could. */
  domain_id: string
  /** The address without a name, in any letter case. */
  address: string
  /** The topic that the links unsubscribe from; null: from everything that is sent from the domain. */
  topic_id: string | null
  email_id: string
  delivery_id: string
  /** The return path of the domain (`EmailToSend.return_path`); null while it is not verified. */
  return_path: string | null
}

/**
 * https   the page, and the URI of List-Unsubscribe. It begins with BASE_URL. If that is `http:`, the mail must have no
 *         List-Unsubscribe-Post (RFC 8058 3.1). POST to it unsubscribes, GET shows the page and changes nothing.
 * mailto  `mailto:` URI of the header, mail to which unsubscribes; null if this server receives no mail for the domain
 */
export type UnsubscribeLinks = { https: string; mailto: string | null }

/**
 * Returns the links by which a recipient unsubscribes, signed and without expiry. The same recipient of the same email
 * always gets the same links, and nobody else gets them. Only the first call in a process reads the database.
 */
export function createUnsubscribeLinks({
  pool,
  secrets,
  config,
}: Dependencies): (recipient: UnsubscribingRecipient) => Promise<UnsubscribeLinks> {
  const readKeys = createReadTokenKeys({ pool, secrets })
  return async ({ delivery_id, return_path, ...recipient }) => {
    const keys = await readKeys()
    const token = writeUnsubscribeToken({ ...recipient, address: recipient.address.toLowerCase() }, keys)
    const host = return_path ?? config.RETURN_PATH_DOMAIN
    return {
      https: `${config.BASE_URL}/u/${token}`,
      mailto: host === undefined ? null : `mailto:${unsubscribeLocal(delivery_id, keys)}@${host}`,
    }
  }
}

type Dependencies = { pool: Pool; secrets: Secrets; config: Pick<Config, 'BASE_URL' | 'RETURN_PATH_DOMAIN'> }
