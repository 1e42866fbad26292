import { coalesce } from '../lib/coalesce.ts'
import { newId } from '../lib/ids.ts'
import type { IncomingContent } from '../lib/inbound/smtp_content.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { NoAnswerError, type Pool } from '../sql/pool.ts'
import {
  insertReceivedEmails,
  listStoredReceivedEmails,
  type NewReceivedEmail,
  type SmtpClient,
} from '../sql/received_emails.ts'
import { splitOnRefusal } from '../sql/retry.ts'
import type { Blobs } from './blobs.ts'
import { isAway, readBack } from './read_back.ts'
import type { Foundation } from './run_process.ts'

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

/** Messages too long for memory whose bytes are being written: S3 takes some megabytes for each. */
const LONG_AT_ONCE = 20

/** Well before the sender gives up (10 minutes, RFC 5321 section 4.5.3.2.6): it is told to try again. */
const PATIENCE_MS = 5_000

type Dependencies = Pick<Foundation, 'pool' | 'config'> & { blobs: Blobs }

/** Short messages lie in the commit that they share with whoever else is waiting; of others the bytes go first. */
export function createReceiveEmail({ pool, config, blobs }: Dependencies): ReceiveEmail {
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
  const long = new Semaphore(LONG_AT_ONCE)
  const isInPostgres = config.BLOB_STORE === 'postgres'

  const writeInTurn = async (account_ids: string[], content: IncomingContent): Promise<string[]> => {
    await long.acquire()
    try {
      return await writeBlobs(blobs, account_ids, content)
    } finally {
      long.release()
    }
  }

  return async (envelope, content) => {
    const accounts = Map.groupBy(envelope.recipients, recipient => recipient.account_id)
    const account_ids = [...accounts.keys()]
    const isShort = content.bytes !== null && isInPostgres
    const blob_ids = isShort ? account_ids.map(newId) : await writeInTurn(account_ids, content)
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
        bytes: isShort ? content.bytes : null,
      }
    })
    await store(emails)
  }
}

/** One blob for each account; what arrives is read once, and copied from the first. */
async function writeBlobs(blobs: Blobs, account_ids: string[], content: IncomingContent): Promise<string[]> {
  const ids: string[] = []
  const [first = '', ...others] = account_ids
  const { id } = content.bytes
    ? await blobs.put(first, content.bytes, content.digest().sha256)
    : await blobs.write(first, content.chunks())
  ids.push(id)
  for (const other of others) {
    const copy = content.bytes
      ? await blobs.put(other, content.bytes, content.digest().sha256)
      : await blobs.write(other, blobs.read(first, id))
    ids.push(copy.id)
  }
  return ids
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
