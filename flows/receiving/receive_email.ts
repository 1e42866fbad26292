import type { Blobs } from '#flows/files/blobs.ts'
import { isAway, readBack } from '#flows/process/read_back.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { coalesce } from '#lib/async/coalesce.ts'
import { newId } from '#lib/ids.ts'
import type { IncomingContent } from '#lib/receiving/smtp/content.ts'
import { SMTP_LIMITS } from '#lib/receiving/smtp/limits.ts'
import { NoAnswerError, type Pool } from '#sql/pool.ts'
import {
  insertReceivedEmails,
  listStoredReceivedEmails,
  type NewReceivedEmail,
  type SmtpClient,
} from '#sql/receiving/received_emails.ts'
import { splitOnRefusal } from '#sql/retry.ts'
import { createStoreContent, type StorePatience } from './store_content.ts'

/** A recipient of an envelope and its account. `domain_id`: null for the operator of this server. */
export type ReceivingParty = { account_id: string; domain_id: string | null; recipient: string }

export type Envelope = { mail_from: string; recipients: ReceivingParty[]; client: SmtpClient }

/**
 * Stores a message for each of its accounts, all or nothing. Once this resolves, the sender is told that the message
 * was accepted.
 */
export type ReceiveEmail = (envelope: Envelope, content: IncomingContent) => Promise<void>

/** A message as rows for Postgres, one per account. */
type Message = NewReceivedEmail[]

/** Maximum bytes of content per commit. */
const MAX_WEIGHT = 4 << 20
const MAX_MESSAGES = 50

/** Ends well before the sender times out (10 minutes, RFC 5321 section 4.5.3.2.6), so that it is told to try again. */
const PATIENCE_MS = 5_000

type Dependencies = Pick<Foundation, 'pool' | 'config' | 'log'> & { blobs: Blobs; patience?: StorePatience }

/**
 * Contents of short messages are stored in a commit that several messages share; contents of long ones are stored
 * before it.
 */
export function createReceiveEmail({ pool, config, log, blobs, patience = SMTP_LIMITS }: Dependencies): ReceiveEmail {
  const store = coalesce<Message, null>(
    messages => splitOnRefusal<Message, null>(messages, part => storeMessages(pool, part)),
    {
      // Commits that add a job wait for one another (NOTIFY locks until the commit is on disk), so two at a time would
      // only be smaller.
      in_flight: 1,
      max_items: MAX_MESSAGES,
      max_weight: MAX_WEIGHT,
      weigh: emails => emails.reduce((sum, { bytes }) => sum + 1_000 + (bytes?.length ?? 0), 0),
      patience: { ms: PATIENCE_MS, error: () => new Error('too many messages wait for their commit') },
      // Postgres was unavailable for more than two seconds, so all waiting callers have waited as long.
      concerns_all: isAway,
    },
  )
  const storeContent = createStoreContent({ config, blobs, log, patience })

  return async (envelope, content) => {
    const accounts = Map.groupBy(envelope.recipients, recipient => recipient.account_id)
    const account_ids = [...accounts.keys()]
    const { blob_ids, bytes } = await storeContent(account_ids, content)
    const { sha256, size, has_message_id } = content.digest()
    const emails = account_ids.map((account_id, n): NewReceivedEmail => {
      const parties = accounts.get(account_id) as ReceivingParty[]
      return {
        account_id,
        id: newId(),
        domain_id: parties.find(party => party.domain_id !== null)?.domain_id ?? null,
        mail_from: envelope.mail_from,
        received_for: [...new Set(parties.map(party => party.recipient))],
        client: envelope.client,
        sha256,
        size,
        has_message_id,
        raw_blob_id: blob_ids[n] as string,
        bytes,
      }
    })
    await store(emails)
  }
}

async function storeMessages(pool: Pool, messages: Message[]): Promise<(null | Error)[]> {
  try {
    await insertReceivedEmails(pool, messages.flat())
    return messages.map(() => null)
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    // The commit may have happened although its response was lost: the rows are read back and never stored again.
    const ids = messages.flat().map(({ account_id, id }) => ({ account_id, id }))
    const stored = await readBack(pool, error, () => listStoredReceivedEmails(pool, ids))
    return messages.map(emails => (emails.every(({ id }) => stored.includes(id)) ? null : error))
  }
}
