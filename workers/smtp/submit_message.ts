import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Blobs } from '#flows/files/blobs.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import type { RequestKey, SendingParty } from '#flows/sending/draft_emails.ts'
import { sendEmail } from '#flows/sending/send_email.ts'
import { createAcceptEmail } from '#flows/sending/together/accept_together.ts'
import { Semaphore } from '#lib/async/semaphore.ts'
import { now } from '#lib/clock.ts'
import { ApiError } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { type Address, formatAddress } from '#lib/mail/address.ts'
import { keptDate, keptMessageId } from '#lib/receiving/kept_fields.ts'
import { parseMessage } from '#lib/receiving/parse/parse_message.ts'
import type { ParsedMessage } from '#lib/receiving/parse/parsed_message.ts'
import type { IncomingContent } from '#lib/receiving/smtp/content.ts'
import type { SmtpLimits } from '#lib/receiving/smtp/limits.ts'
import { SmtpReplyError } from '#lib/receiving/smtp/reply_error.ts'
import { refuseAuthors, SubmittedEmail, submittedEmail } from '#lib/receiving/submitted_email.ts'
import { listSendingDomains } from '#sql/domains/mail_domains.ts'
import type { Pool } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** Maximum number of long messages that are in memory at the same time. Others wait unread. */
const LONG_AT_ONCE = 2

/** Accepts a message as an email to the recipients of its envelope. Returns its id. @throws {ApiError} */
type SubmitMessage = (party: SendingParty, envelope: Address[], content: IncomingContent) => Promise<string>

export function createSubmitMessage(foundation: Foundation, blobs: Blobs, limits: SmtpLimits): SubmitMessage {
  const services = { ...foundation, blobs, acceptEmail: createAcceptEmail(foundation.pool) }
  const long = new Semaphore(LONG_AT_ONCE)

  const accept = async (party: SendingParty, envelope: Address[], raw: Buffer): Promise<string> => {
    const key = keyOf(envelope, raw)
    const message = await readMessage(raw)
    const refused = refuseAuthors(message)
    if (refused) throw new ApiError('invalid_from_address', refused)
    const email = parse(SubmittedEmail, submittedEmail(message, envelope))
    const finish = async (draft: Draft) => {
      const refusal = draft.refusal ?? (await refuseSender(foundation.pool, party, email))
      return withOwnFields(toEnvelope({ ...draft, refusal }, envelope), message, email)
    }
    // Without a Message-ID, the same bytes may be two emails.
    const { id } = await sendEmail(
      services,
      party,
      { ...email, poll: null },
      message.message_id === null ? null : key,
      finish,
    )
    return id
  }

  return async (party, envelope, content) => {
    if (content.bytes) return accept(party, envelope, content.bytes)
    await long.acquire(1, AbortSignal.timeout(limits.data_ms))
    try {
      return await accept(party, envelope, await buffer(content.chunks()))
    } finally {
      long.release()
    }
  }
}

async function readMessage(raw: Buffer): Promise<ParsedMessage> {
  try {
    // A copy, since the bytes are transferred to the thread, and the signed bytes are needed again.
    const parsed = await parseMessage(new Uint8Array(raw))
    if ('message' in parsed) return parsed.message
    throw new Error(parsed.refused)
  } catch (error) {
    throw new SmtpReplyError(554, '5.6.0 validation_error: The message cannot be read', error)
  }
}

/** Returns an idempotency key: a client that missed the reply sends the same message again, and it is accepted once. */
function keyOf(envelope: Address[], raw: Buffer): RequestKey {
  const recipients = envelope.map(({ address }) => address).sort()
  const fingerprint = hash('sha256', `${hash('sha256', raw)} ${recipients.join(' ')}`)
  return { route: '/smtp', key: fingerprint, fingerprint }
}

/** Sends an email only to its envelope: the header also names recipients whose copies the client sends separately. */
function toEnvelope(draft: Draft, envelope: Address[]): Draft {
  const addresses = new Set(envelope.map(({ address }) => address.toLowerCase()))
  const recipients = draft.recipients.filter(({ recipient }) => addresses.has(recipient.toLowerCase()))
  return { ...draft, recipients: recipients.map(recipient => ({ ...recipient, visible_in: 'to' })) }
}

/** Rejects a Sender field whose domain the key may not send from: mail on behalf of others needs access to both. */
async function refuseSender(
  pool: Pool,
  { account_id, domain_id }: SendingParty,
  { from, sender }: SubmittedEmail,
): Promise<ApiError | null> {
  if (!sender || sender.domain === from.domain) return null
  // A key for one domain sends only from that domain: the From of other drafts is rejected anyway.
  const names = domain_id === null ? await listSendingDomains(pool, account_id, [sender.domain]) : []
  if (names.includes(sender.domain)) return null
  return new ApiError(
    'validation_error',
    `The Sender field names ${sender.domain}, which this API key may not send from.`,
  )
}

/** Keeps the fields of the client that people or programs search for later: Message-ID, Date and Sender. */
function withOwnFields(draft: Draft, { headers }: ParsedMessage, { sender }: SubmittedEmail): Draft {
  const date = keptDate(headers, now())
  const own = { ...(date && { Date: date }), ...(sender && { Sender: formatAddress(sender) }) }
  return {
    ...draft,
    message_id: keptMessageId(headers) ?? draft.message_id,
    headers: { ...draft.headers, ...own },
    renderer: undefined, // the author's mail program has already made the parts
    track_opens: false, // the parts are sent as they are, byte for byte
    track_clicks: false,
  }
}
