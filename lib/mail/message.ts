import { type AttachmentHead, isInvitation, typeOfFile } from '#lib/mail/mime/attachment.ts'
import { filePart, invitationPart, type MimePart, multipart, textPart } from '#lib/mail/mime/body.ts'
import { atomsField, type HeaderField, rawField, textField } from '#lib/mail/mime/field.ts'
import { type Mailbox, mailboxesField } from '#lib/mail/mime/mailbox.ts'

export type { Mailbox, MimePart }

/** `size` is what `read` yields in all, in pieces of any length; each call reads it from the start. */
export type MessageAttachment = AttachmentHead & { size: number; read: () => AsyncIterable<Buffer> }

/** `seed` makes the boundaries, so that the same message always gives the same bytes. */
export type Message = {
  message_id: string // without angle brackets
  date: Date
  /** In place of `date` in its field: as its author wrote it (RFC 5322 section 3.3). */
  own_date?: string | undefined
  from: Mailbox
  sender?: Mailbox | undefined
  to: Mailbox[]
  cc: Mailbox[]
  reply_to: Mailbox[]
  subject: string
  headers: Record<string, string | string[]> // custom; a list is a field for each of its values
  text: string | null
  html: string | null
  attachments: MessageAttachment[]
  seed: string
}

/** What a message is laid out from: no content of attachments, so that it can be copied to a thread. */
export type MessageHead = Omit<Message, 'attachments'> & { attachments: Omit<MessageAttachment, 'read'>[] }

/** `fields` in order, `body` as CRLF lines, the last one ended too. All ASCII, no line over 998 characters. */
export type ComposedMessage = { fields: HeaderField[]; body: Buffer }

/** Written by the composer alone; Bcc and signatures never come from a custom header. */
const OURS = /^(?:from|sender|to|cc|bcc|subject|date|message-id|mime-version|content-.*|dkim-signature)$/i

/**
 * Lays out an Internet Message (RFC 5322) with MIME (RFC 2045 to 2047): all but the content of its attachments. A custom
 * header with the name of a field that is written here is left out, since most may occur only once (RFC 5322 section
 * 3.6). Throws TypeError for an address, message id, header name, content type or content id that cannot be written
 * safely; names, subject and header values are encoded or cleaned.
 */
export function layOutMessage(message: MessageHead): MimePart {
  const { fields, body } = layOutBody(message)
  return {
    fields: [
      ...addressFields(message),
      textField('Subject', message.subject),
      atomsField('Date', [message.own_date ?? message.date.toUTCString().replace('GMT', '+0000')]),
      atomsField('Message-ID', [`<${message.message_id}>`]),
      ...customFields(message),
      atomsField('MIME-Version', ['1.0']),
      ...fields,
    ],
    body,
  }
}

/** A whole message, which has no attachments. Throws as `layOutMessage` does. */
export function composeMessage(message: MessageHead): ComposedMessage {
  if (message.attachments.length > 0) throw new TypeError('A message with attachments is composed piece by piece')
  const { fields, body } = layOutMessage(message)
  return { fields, body: Buffer.from(body.join(''), 'latin1') }
}

/** The bytes that go on the wire (before dot-stuffing); `first` are raw fields to put on top, as a DKIM-Signature. */
export function serializeMessage({ fields, body }: ComposedMessage, first: string[] = []): Buffer {
  return Buffer.concat([serializeHeader(fields, first), body])
}

/** The header, and the empty line behind it. */
export function serializeHeader(fields: HeaderField[], first: string[] = []): Buffer {
  const lines = [...first, ...fields.map(field => field.raw)]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

function addressFields({ from, sender, to, cc, reply_to }: MessageHead): HeaderField[] {
  const fields = [mailboxesField('From', [from])]
  if (sender) fields.push(mailboxesField('Sender', [sender]))
  if (to.length > 0) fields.push(mailboxesField('To', to))
  // Many readers expect a recipient in every message, and this names none (RFC 5322 section 3.4).
  else if (cc.length === 0) fields.push(atomsField('To', ['undisclosed-recipients:;']))
  if (cc.length > 0) fields.push(mailboxesField('Cc', cc))
  if (reply_to.length > 0) fields.push(mailboxesField('Reply-To', reply_to))
  return fields
}

function customFields({ headers, reply_to }: MessageHead): HeaderField[] {
  const fields: HeaderField[] = []
  for (const [name, values] of Object.entries(headers)) {
    const isTaken = OURS.test(name) || (reply_to.length > 0 && name.toLowerCase() === 'reply-to')
    if (!isTaken) fields.push(...[values].flat().map(value => rawField(name, value)))
  }
  return fields
}

/**
 * As readers expect it: mixed(related(alternative(text, html, invitation), what html shows), files), only the levels needed.
 * An invitation among the files would be one to open, where a calendar next to its text asks "Will you come?".
 */
function layOutBody({ text, html, attachments, seed }: MessageHead): MimePart {
  const invitation = attachments.findIndex(({ content_type }) => isInvitation(content_type))
  const shown: MimePart[] = []
  const files: MimePart[] = []
  for (const [index, attachment] of attachments.entries()) {
    if (index === invitation) continue
    if (html !== null && isShown(attachment)) shown.push(filePart(attachment, index, 'inline'))
    else files.push(filePart(attachment, index, 'attachment'))
  }
  const forms = layOutText(text, html)
  const invited = attachments[invitation]
  if (invited) forms.push(invitationPart(invited, invitation))
  const [only] = forms as [MimePart]
  let part = forms.length === 1 ? only : multipart('alternative', forms, seed)
  const root = forms.length === 1 ? 'text/html' : 'multipart/alternative'
  if (shown.length > 0) part = multipart('related', [part, ...shown], seed, [`type="${root}"`])
  if (files.length > 0) part = multipart('mixed', [part, ...files], seed)
  return part
}

/** The plainest first. */
function layOutText(text: string | null, html: string | null): MimePart[] {
  if (html === null) return [textPart('plain', text ?? '')]
  return text === null ? [textPart('html', html)] : [textPart('plain', text), textPart('html', html)]
}

/** Whether html can show it. Inline text would be read as more of the message. */
function isShown({ filename, content_type, content_disposition, content_id }: AttachmentHead): boolean {
  return (
    content_disposition === 'inline' && content_id !== null && !typeOfFile(content_type, filename).startsWith('text/')
  )
}
