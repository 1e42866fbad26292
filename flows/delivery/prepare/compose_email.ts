import type {
  createUnsubscribeLinks,
  UnsubscribeLinks,
  UnsubscribingRecipient,
} from '#flows/contacts/unsubscribe_links.ts'
import { type PersonalParts, type RenderEmail, RenderError } from '#flows/contents/render_email.ts'
import type { FindTrackedBy } from '#flows/contents/tracked_by.ts'
import { ComposeError, UnsendableError } from '#flows/delivery/errors.ts'
import type { ReadBlob } from '#flows/files/blobs.ts'
import { hasPollLinks, isPersonal } from '#lib/contents/compile_content.ts'
import { domainOf, parseAddress } from '#lib/mail/address.ts'
import { composeAndSign } from '#lib/mail/compose.ts'
import type { DkimKey } from '#lib/mail/dkim.ts'
import type { Mailbox, Message } from '#lib/mail/message.ts'
import { hasUnsubscribeHeader, listHeaders } from '#lib/topics/list_headers.ts'
import type { EmailToSend } from '#sql/delivery/prepare/emails_to_send.ts'
import type { StoredFile } from './fetch_attachments.ts'

/** The blob store failed, as the database may; the email is not at fault. */
class ReadFileError extends Error {}

/** The recipient for whom a message is composed. `id`: of the delivery. */
export type Recipient = { id: string; recipient: string }

type Ingredients = {
  from: Mailbox
  keys: DkimKey[]
  files: StoredFile[]
  readBlob: ReadBlob
  renderEmail: RenderEmail
  unsubscribeLinks: ReturnType<typeof createUnsubscribeLinks>
  trackedBy: FindTrackedBy
}

/** Renders, composes and signs an email, for this recipient if it is personal. @throws {UnsendableError | ComposeError} */
export async function composeEmail(
  email: EmailToSend,
  recipient: Recipient,
  { from, keys, files, readBlob, renderEmail, unsubscribeLinks, trackedBy }: Ingredients,
): Promise<Buffer> {
  const links = isPersonal(email.renderer) ? await unsubscribeLinks(namedRecipient(email, recipient)) : null
  const personal = links ? personalParts(email, links, await trackedBy(email, recipient)) : undefined
  const { html, text } = await renderEmail(email, personal).catch(unsendable)
  // Only mail submitted by SMTP has these two among its own headers.
  const { Date: own_date, Sender: sender, ...headers } = withListHeaders(email, domainOf(from.address), links)
  const message: Message = {
    message_id: email.message_id,
    date: email.submitted_at,
    own_date,
    from,
    sender: sender === undefined ? undefined : mailbox(sender),
    to: email.to.map(mailbox),
    cc: email.cc.map(mailbox),
    reply_to: email.reply_to.map(mailbox),
    subject: email.subject,
    headers: fieldsOf(headers),
    text,
    html,
    attachments: files.map(file => ({ ...file, read: () => readFile(() => readBlob(email.account_id, file.blob_id)) })),
    seed: email.id,
  }
  try {
    return await composeAndSign(message, keys)
  } catch (cause) {
    if (cause instanceof ReadFileError) throw cause
    throw new ComposeError(`It could not be composed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

function personalParts(
  { renderer }: EmailToSend,
  { https }: UnsubscribeLinks,
  tracked_by: PersonalParts['tracked_by'],
): PersonalParts {
  const links: PersonalParts['links'] = { unsubscribe_url: https }
  if (hasPollLinks(renderer)) links.poll_url = `${tracked_by.origin}/p/${tracked_by.tokens.poll}/`
  return { links, tracked_by }
}

function namedRecipient(
  email: EmailToSend,
  { id: delivery_id, recipient: address }: Recipient,
): UnsubscribingRecipient {
  const { account_id, id: email_id, topic_id, return_path } = email
  // Set, since nothing is sent without a domain (prepare_message.ts).
  const domain_id = email.domain_id as string
  return { account_id, domain_id, address, topic_id, email_id, delivery_id, return_path }
}

/**
 * Adds List-Unsubscribe headers to mail of a topic, a campaign or an automation that has links to unsubscribe, unless
 * it has such headers.
 */
function withListHeaders(email: EmailToSend, domain: string, links: UnsubscribeLinks | null): Record<string, string> {
  const { headers, topic_id, campaign_id, automation_id } = email
  if (!links || (topic_id ?? campaign_id ?? automation_id) === null || hasUnsubscribeHeader(headers)) return headers
  const given = new Set(Object.keys(headers).map(name => name.toLowerCase()))
  const added = Object.entries(listHeaders({ ...email, domain_id: email.domain_id as string, domain, ...links }))
  return { ...headers, ...Object.fromEntries(added.filter(([name]) => !given.has(name.toLowerCase()))) }
}

function unsendable(error: unknown): never {
  throw error instanceof RenderError ? new UnsendableError(error.message, { cause: error }) : error
}

/**
 * Splits values into fields of the same name: submitted mail may have several, whose values are separated by line
 * breaks; no other value has a line break.
 */
function fieldsOf(headers: Record<string, string>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.split('\n')]))
}

async function* readFile(read: () => AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  try {
    yield* read()
  } catch (cause) {
    throw new ReadFileError(`An attachment could not be read: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
}

export function mailbox(text: string): Mailbox {
  const address = parseAddress(text)
  if (!address) throw new UnsendableError(`The stored address ${JSON.stringify(text)} is not valid.`)
  return { name: address.name, address: address.address }
}
