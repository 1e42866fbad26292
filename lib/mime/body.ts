import { hash } from 'node:crypto'
import { atomsField, type HeaderField } from './field.ts'

/** The fields that describe a body, and the body: CRLF lines of at most 76 characters, the last one ended too. */
export type Part = { fields: HeaderField[]; body: string }

const BASE64_LINE = 76

/** Base64 keeps every text exactly, and leaves no line that is too long, starts with a dot or ends in white space. */
export function textPart(subtype: 'plain' | 'html', content: string): Part {
  return {
    fields: [
      atomsField('Content-Type', [`text/${subtype}; charset=utf-8`]),
      atomsField('Content-Transfer-Encoding', ['base64']),
    ],
    body: base64Lines(Buffer.from(withCrlf(content))),
  }
}

/**
 * multipart/alternative (RFC 2046 section 5.1.4), the plainest part first. The boundary depends on the seed alone; it
 * cannot occur in a part, since base64 has no hyphen.
 */
export function alternativePart(parts: Part[], seed: string): Part {
  const boundary = `mb-${hash('sha256', seed, 'hex').slice(0, 24)}`
  let body = ''
  for (const part of parts) {
    body += `--${boundary}\r\n${part.fields.map(field => `${field.raw}\r\n`).join('')}\r\n${part.body}`
  }
  return {
    fields: [atomsField('Content-Type', [`multipart/alternative; boundary="${boundary}"`])],
    body: `${body}--${boundary}--\r\n`,
  }
}

/** The canonical form of text: every line break is CRLF before it is encoded (RFC 2045 section 6.8). */
function withCrlf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}

function base64Lines(bytes: Buffer): string {
  const encoded = bytes.toString('base64')
  let lines = ''
  for (let start = 0; start < encoded.length; start += BASE64_LINE) {
    lines += `${encoded.slice(start, start + BASE64_LINE)}\r\n`
  }
  return lines || '\r\n'
}
