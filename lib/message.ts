import { alternativePart, type Part, textPart } from './mime/body.ts'
import { atomsField, type HeaderField, rawField, textField } from './mime/field.ts'
import { type Mailbox, mailboxesField } from './mime/mailbox.ts'

export type { HeaderField, Mailbox }

/** A mail without attachments. `seed` makes the boundary, so that the same message always gives the same bytes. */
export type Message = {
  message_id: string // without angle brackets
  date: Date
  from: Mailbox
  to: Mailbox[]
  cc: Mailbox[]
  reply_to: Mailbox[]
  subject: string
  headers: Record<string, string> // custom, names of letters, digits and hyphens
  text: string | null
  html: string | null
  seed: string
}

/** `fields` in order, `body` as CRLF lines, the last one ended too. All ASCII, no line over 998 characters. */
export type ComposedMessage = { fields: HeaderField[]; body: Buffer }

/** Written by the composer alone; Bcc and signatures never come from a custom header. */
const OURS = /^(?:from|to|cc|bcc|subject|date|message-id|mime-version|content-.*|dkim-signature)$/i

/**
 * Composes an Internet Message (RFC 5322) with MIME (RFC 2045 to 2047). A custom header with the name of a field that
 * is written here is left out, since most may occur only once (RFC 5322 section 3.6). Throws TypeError for an address,
 * message id or header name that cannot be written safely; names, subject and header values are encoded or cleaned.
 */
export function composeMessage(message: Message): ComposedMessage {
  const { fields, body } = composeBody(message)
  return {
    fields: [
      ...addressFields(message),
      textField('Subject', message.subject),
      atomsField('Date', [message.date.toUTCString().replace('GMT', '+0000')]),
      atomsField('Message-ID', [`<${message.message_id}>`]),
      ...customFields(message),
      atomsField('MIME-Version', ['1.0']),
      ...fields,
    ],
    body: Buffer.from(body, 'latin1'),
  }
}

/** The bytes that go on the wire (before dot-stuffing); `first` are raw fields to put on top, as a DKIM-Signature. */
export function serializeMessage({ fields, body }: ComposedMessage, first: string[] = []): Buffer {
  const lines = [...first, ...fields.map(field => field.raw)]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

function addressFields({ from, to, cc, reply_to }: Message): HeaderField[] {
  const fields = [mailboxesField('From', [from])]
  if (to.length > 0) fields.push(mailboxesField('To', to))
  if (cc.length > 0) fields.push(mailboxesField('Cc', cc))
  if (reply_to.length > 0) fields.push(mailboxesField('Reply-To', reply_to))
  return fields
}

function customFields({ headers, reply_to }: Message): HeaderField[] {
  const fields: HeaderField[] = []
  for (const [name, value] of Object.entries(headers)) {
    const isTaken = OURS.test(name) || (reply_to.length > 0 && name.toLowerCase() === 'reply-to')
    if (!isTaken) fields.push(rawField(name, value))
  }
  return fields
}

function composeBody({ text, html, seed }: Message): Part {
  if (html === null) return textPart('plain', text ?? '')
  if (text === null) return textPart('html', html)
  return alternativePart([textPart('plain', text), textPart('html', html)], seed)
}
