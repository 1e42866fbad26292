import { hash } from 'node:crypto'
import { z } from 'zod'
import { MAX_FILE_BYTES } from '#lib/files/upload/file_digest.ts'
import { UploadedContent, WrongContent } from '#lib/files/upload/uploaded_content.ts'
import { type Address, formatAddress, parseAddress } from '#lib/mail/address.ts'
import { safeFilename, withCharset } from '#lib/mail/attachment_limits.ts'
import { isReservedHeader } from '#lib/mail/headers.ts'
import { address, addresses } from '#lib/mail/mail_fields.ts'
import { isInvitation } from '#lib/mail/mime/attachment.ts'
import { isFieldName } from '#lib/mail/mime/field.ts'
import {
  MAX_ENTRIES,
  type ParsedAddress,
  type ParsedFile,
  type ParsedMessage,
} from '#lib/receiving/parse/parsed_message.ts'
import { shownContentIds } from '#lib/receiving/parse/shown_files.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'

const recipients = () => addresses('invalid_to_address', { max: MAX_ENTRIES })

/**
 * A submitted email: as for POST /emails, except that `to` may be empty and the header decides which recipients are shown. The
 * limits are those of the listener and the parser.
 */
export const SubmittedEmail = CompleteEmail.extend({
  to: recipients(),
  cc: recipients(),
  bcc: recipients(),
  reply_to: addresses('validation_error', { max: MAX_ENTRIES }),
  sender: address('validation_error').nullable(),
  headers: z.record(z.string(), z.string()),
})
export type SubmittedEmail = z.output<typeof SubmittedEmail>

/**
 * Returns why the author and sender fields are rejected, or null. RFC 5322 section 3.6.2 allows several authors, but most
 * receivers reject such mail, since no single domain could vouch for it (RFC 7489 section 6.6.1).
 */
export function refuseAuthors({ authors, headers }: Pick<ParsedMessage, 'authors' | 'headers'>): string | null {
  const isRepeated = (name: string) => headers[name]?.includes('\n')
  const count = new Set(authors.map(({ address }) => keyOf(address))).size
  if (count > 1) return `From names ${count} authors, which most servers refuse. Name one, and the others in Reply-To.`
  if (isRepeated('from')) return 'The message has several From fields.'
  return isRepeated('sender') ? 'The message has several Sender fields.' : null
}

/** Converts a message to a SubmittedEmail, not yet validated. Envelope recipients that its header does not show become bcc. */
export function submittedEmail(message: ParsedMessage, envelope: Address[]): Record<string, unknown> {
  const to = formatAll(message.to)
  const cc = formatAll(message.cc)
  const shown = new Set([...to, ...cc].map(keyOf))
  const shownIds = shownContentIds(message.html)
  const hidden = new Map(envelope.map(({ address }) => [keyOf(address), address]))
  return {
    from: message.from ? format(message.from) : undefined,
    to,
    cc,
    bcc: Array.from(hidden, ([key, address]) => (shown.has(key) ? [] : [address])).flat(),
    reply_to: formatAll(message.reply_to),
    sender: senderOf(message),
    // An encoded line break at the end is a mistake of the sender.
    subject: message.subject.replace(/[\r\n]+/g, ' ').trimEnd(),
    html: message.html,
    text: message.text,
    headers: customHeaders(message.headers),
    attachments: message.files.map(file => toAttachment(file, shownIds)),
  }
}

/** Returns the sender unless it is the author: RFC 5322 section 3.6.2 asks for it only if they differ. */
function senderOf({ from, sender }: ParsedMessage): string | null {
  if (!sender?.address || keyOf(sender.address) === keyOf(from?.address ?? '')) return null
  return format(sender)
}

/** Leaves out words without an address, such as `Undisclosed recipients <>`. */
function formatAll(addresses: ParsedAddress[]): string[] {
  return addresses.filter(({ address }) => address !== '').map(format)
}

/** Formats an address, without its name if the name is invalid in an email. */
function format({ name, address }: ParsedAddress): string {
  const text = formatAddress({ name: name || null, address })
  return !parseAddress(text) && parseAddress(address) ? address : text
}

/** Returns the same key for each spelling of an address; for invalid text, the text in lower case. */
function keyOf(text: string): string {
  return (parseAddress(text)?.address ?? text).toLowerCase()
}

/** Leaves out headers that we write ourselves, and those that cannot be written, which is no reason to reject the message. */
function customHeaders(headers: Record<string, string>): Record<string, string> {
  const custom = Object.entries(headers).filter(([name]) => isFieldName(name) && !isReservedHeader(name))
  return Object.fromEntries(custom.map(([name, value]) => [capitalise(name), value]))
}

function capitalise(name: string): string {
  return name.replace(/(?<![^-_])[a-z]/g, letter => letter.toUpperCase())
}

function toAttachment(file: ParsedFile, shown: Set<string>) {
  const { filename, content_type, charset, disposition, content_id, content } = file
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const isTooLarge = bytes.length > MAX_FILE_BYTES
  return {
    filename: safeFilename(filename ?? (isInvitation(content_type) ? 'invite.ics' : 'attachment')),
    content: isTooLarge
      ? new WrongContent(`must have at most ${MAX_FILE_BYTES.toLocaleString('en')} bytes`)
      : new UploadedContent(hash('sha256', bytes), bytes.length, { bytes }),
    content_type: withCharset(content_type, charset),
    content_disposition: content_id !== null && shown.has(content_id) ? 'inline' : disposition,
    content_id,
  }
}
