import { hash } from 'node:crypto'
import { type AttachmentHead, attachmentFields, invitationFields } from './attachment.ts'
import { base64Lines, base64LinesLength } from './base64.ts'
import { atomsField, type HeaderField } from './field.ts'

/**
 * The place of an attachment's content, as base64 lines or embedded: `length` bytes. `attachment` is its index in the message.
 */
type Slot = { attachment: number; length: number }

/**
 * The fields that describe a body, and the body in pieces: CRLF lines of at most 76 characters, including the last, and the
 * places of attachments. Text is ASCII; from a thread it comes as bytes.
 */
export type MimePart = { fields: HeaderField[]; body: (string | Uint8Array<ArrayBuffer> | Slot)[] }

type Multipart = 'alternative' | 'related' | 'mixed'

/** Returns a part with text. Base64 preserves every text, and no line is too long, starts with a dot or ends in white space. */
export function textPart(subtype: 'plain' | 'html', content: string): MimePart {
  return {
    fields: [
      atomsField('Content-Type', [`text/${subtype}; charset=utf-8`]),
      atomsField('Content-Transfer-Encoding', ['base64']),
    ],
    body: [base64Lines(Buffer.from(withCrlf(content)))],
  }
}

/** Returns the part of a file of `size` bytes. Throws as `attachmentFields` does. */
export function filePart(
  head: AttachmentHead & { size: number },
  attachment: number,
  disposition: 'attachment' | 'inline',
): MimePart {
  const fields = attachmentFields(head, disposition)
  if (!head.is_embedded) return { fields, body: [{ attachment, length: base64LinesLength(head.size) }] }
  // The line end before a boundary does not belong to the part (RFC 2046 section 5.1.1), so the message needs another one to keep
  // its last.
  return { fields, body: [{ attachment, length: head.size }, '\r\n'] }
}

/** Returns the part of an invitation of `size` bytes as an alternative of the body. Throws as `attachmentFields` does. */
export function invitationPart(head: AttachmentHead & { size: number }, attachment: number): MimePart {
  return { fields: invitationFields(head), body: [{ attachment, length: base64LinesLength(head.size) }] }
}

/**
 * Returns multipart/alternative with the plainest part first (RFC 2046 section 5.1.4), multipart/related with the root first (RFC
 * 2387), or multipart/mixed. The boundary depends on the seed alone. It cannot occur in a part: base64 has no hyphens, header
 * lines do not begin with hyphens, nested multiparts have boundaries of their own, and the author of an embedded message did not
 * know the seed.
 */
export function multipart(subtype: Multipart, parts: MimePart[], seed: string, parameters: string[] = []): MimePart {
  const boundary = boundaryOf(subtype, seed)
  const body: MimePart['body'] = []
  for (const part of parts) {
    const head = `--${boundary}\r\n${part.fields.map(field => `${field.raw}\r\n`).join('')}\r\n`
    body.push(head, ...part.body)
  }
  body.push(`--${boundary}--\r\n`)
  const type = [`multipart/${subtype}`, ...parameters].map(atom => `${atom};`)
  return { fields: [atomsField('Content-Type', [...type, `boundary="${boundary}"`])], body }
}

function boundaryOf(subtype: Multipart, seed: string): string {
  return `mb-${hash('sha256', subtype === 'alternative' ? seed : `${seed} ${subtype}`, 'hex').slice(0, 24)}`
}

/** Returns the canonical form of text: every line break is CRLF before it is encoded (RFC 2045 section 6.8). */
function withCrlf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}
