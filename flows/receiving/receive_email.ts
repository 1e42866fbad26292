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

/** A recipient of an envelope, and whose it is. `domain_id` is null for the operator of this server. */
export type ReceivingParty = { account_id: string; domain_id: string | null; recipient: string }

export type Envelope = { mail_from: string; recipients: ReceivingParty[]; client: SmtpClient }

/** Stores a message for every account it is for, all or nothing: once this has resolved, the sender is told. */
export type ReceiveEmail = (envelope: Envelope, content: IncomingContent) => Promise<void>

/** As it goes to Postgres: a row for each account. */
type Message = NewReceivedEmail[]

/** Of one commit, in bytes of content. */
const MAX_WEIGHT = 4 << 20
const MAX_MESSAGES = 50

/** Well before the sender gives up (10 minutes, RFC 5321 section 4.5.3.2.6): it is told to try again. */
const PATIENCE_MS = 5_000

type Dependencies = Pick<Foundation, 'pool' | 'config' | 'log'> & { blobs: Blobs; patience?: StorePatience }

/** The contents of short messages are part of a commit that several messages share; those of others are stored before it. */
export function createReceiveEmail({ pool, config, log, blobs, patience = SMTP_LIMITS }: Dependencies): ReceiveEmail {
  const store = coalesce<Message, null>(
    messages => splitOnRefusal<Message, null>(messages, part => storeMessages(pool, part)),
    {
      // Commits with a job in them wait for one another (NOTIFY locks until the disk has it): two are only smaller ones.
      in_flight: 1,
      max_items: MAX_MESSAGES,
      max_weight: MAX_WEIGHT,
      weigh: emails => emails.reduce((sum, { bytes }) => sum + 1_000 + (bytes?.length ?? 0), 0),
      patience: { ms: PATIENCE_MS, error: () => new Error('too many messages wait for their commit') },
      // Postgres was away for longer than two seconds: whoever waits has waited too.
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
    // Without an answer the commit may have happened: it is read back, and never stored again.
    const ids = messages.flat().map(({ account_id, id }) => ({ account_id, id }))
    const stored = await readBack(pool, error, () => listStoredReceivedEmails(pool, ids))
    return messages.map(emails => (emails.every(({ id }) => stored.includes(id)) ? null : error))
  }
}
