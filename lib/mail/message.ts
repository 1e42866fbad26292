import { type AttachmentHead, isInvitation, typeOfFile } from '#lib/mail/mime/attachment.ts'
import { isBlankHtml } from '#lib/mail/mime/blank_html.ts'
import { filePart, invitationPart, type MimePart, multipart, textPart } from '#lib/mail/mime/body.ts'
import { customField } from '#lib/mail/mime/custom_field.ts'
import { atomsField, type HeaderField, textField } from '#lib/mail/mime/field.ts'
import { type Mailbox, mailboxesField } from '#lib/mail/mime/mailbox.ts'

export type { Mailbox, MimePart }

/** `size` is the total number of bytes that `read` yields, in pieces of any length. Each call reads from the start. */
export type MessageAttachment = AttachmentHead & { size: number; read: () => AsyncIterable<Buffer> }

/** `seed` determines the boundaries, so that the same message always gives the same bytes. */
export type Message = {
  message_id: string // without angle brackets
  date: Date
  /** Replaces `date` in its field: the date as the author wrote it (RFC 5322 section 3.3). */
  own_date?: string | undefined
  from: Mailbox
  sender?: Mailbox | undefined
  to: Mailbox[]
  cc: Mailbox[]
  reply_to: Mailbox[]
  subject: string
  headers: Record<string, string | string[]> // custom; a list becomes one field per value
  text: string | null
  html: string | null
  attachments: MessageAttachment[]
  seed: string
}

/** The input for the layout of a message, without the content of attachments, so that it can be copied to a thread. */
export type MessageHead = Omit<Message, 'attachments'> & { attachments: Omit<MessageAttachment, 'read'>[] }

/** `fields` are in order, `body` is CRLF lines, including the last. All is ASCII, with lines of at most 998 characters. */
export type ComposedMessage = { fields: HeaderField[]; body: Buffer }

/** Fields that only the composer writes: Bcc and signatures never come from a custom header. */
const OURS = /^(?:from|sender|to|cc|bcc|subject|date|message-id|mime-version|content-.*|dkim-signature)$/i

/**
 * Lays out an Internet Message (RFC 5322) with MIME (RFC 2045 to 2047), except the content of its attachments. A custom header is
 * left out if its field is written here, since most fields may occur only once (RFC 5322 section 3.6). Throws TypeError for an
 * address, message id, header name, content type or content id that cannot be written safely; names, the subject and header
 * values are encoded or cleaned.
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

/** Composes a complete message without attachments. Throws as `layOutMessage` does. */
export function composeMessage(message: MessageHead): ComposedMessage {
  if (message.attachments.length > 0) throw new TypeError('A message with attachments is composed piece by piece')
  const { fields, body } = layOutMessage(message)
  return { fields, body: Buffer.from(body.join(''), 'latin1') }
}

/** Returns the bytes to send (before dot-stuffing). `first` are raw fields to put at the top, such as a DKIM-Signature. */
export function serializeMessage({ fields, body }: ComposedMessage, first: string[] = []): Buffer {
  return Buffer.concat([serializeHeader(fields, first), body])
}

/** Returns the header and the empty line after it. */
export function serializeHeader(fields: HeaderField[], first: string[] = []): Buffer {
  const lines = [...first, ...fields.map(field => field.raw)]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}

function addressFields({ from, sender, to, cc, reply_to }: MessageHead): HeaderField[] {
  const fields = [mailboxesField('From', [from])]
  if (sender) fields.push(mailboxesField('Sender', [sender]))
  if (to.length > 0) fields.push(mailboxesField('To', to))
  // Many mail clients expect a recipient in every message, and this names none (RFC 5322 section 3.4).
  else if (cc.length === 0) fields.push(atomsField('To', ['undisclosed-recipients:;']))
  if (cc.length > 0) fields.push(mailboxesField('Cc', cc))
  if (reply_to.length > 0) fields.push(mailboxesField('Reply-To', reply_to))
  return fields
}

function customFields({ headers, reply_to }: MessageHead): HeaderField[] {
  const fields: HeaderField[] = []
  for (const [name, values] of Object.entries(headers)) {
    const isTaken = OURS.test(name) || (reply_to.length > 0 && name.toLowerCase() === 'reply-to')
    if (!isTaken) fields.push(...[values].flat().flatMap(value => customField(name, value) ?? []))
  }
  return fields
}

/**
 * Lays out the body as mail clients expect: mixed(related(alternative(text, html, invitation), inline files), files), with only
 * the levels needed. An invitation is part of the alternative so that a calendar asks "Will you come?"; among the files it would
 * be a file to open.
 */
function layOutBody({ text, html, attachments, seed }: MessageHead): MimePart {
  const invitation = attachments.findIndex(({ content_type }) => isInvitation(content_type))
  const shown: MimePart[] = []
  const files: MimePart[] = []
  for (const [index, attachment] of attachments.entries()) {
    if (index === invitation) continue
    if (hasHtml(html) && isShown(attachment)) shown.push(filePart(attachment, index, 'inline'))
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

/** Lays out the text and the html, the plainest first. */
function layOutText(text: string | null, html: string | null): MimePart[] {
  if (!hasHtml(html)) return [textPart('plain', text ?? '')]
  return text === null ? [textPart('html', html)] : [textPart('plain', text), textPart('html', html)]
}

function hasHtml(html: string | null): html is string {
  return html !== null && !isBlankHtml(html)
}

/** Tells whether the html can show a file. Inline text would be read as part of the message. */
function isShown({ filename, content_type, content_disposition, content_id }: AttachmentHead): boolean {
  return (
    content_disposition === 'inline' && content_id !== null && !typeOfFile(content_type, filename).startsWith('text/')
  )
}
