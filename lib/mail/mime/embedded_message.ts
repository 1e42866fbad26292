import { MAX_HEADERS } from '#lib/mail/parts/limits.ts'
import { encodeLeaves } from './encode_leaves.ts'
import { readHeader, splitMessage } from './header.ts'
import { isSevenBit } from './seven_bit.ts'

const LF = 10
const CR = 13
/** The line that an mbox has before each message. */
const ENVELOPE = /^From [^\r\n]{0,1000}(?:\r\n|\r|\n)/
/** Every message has at least one of these fields (RFC 2046 section 5.2.1). */
const REQUIRED = ['from', 'subject', 'date']

/**
 * Converts a message to the body of a message/rfc822 part with encoding 7bit, since such a part may not be encoded as a whole
 * (RFC 2046 section 5.2.1). Lines end in CRLF, including the last. An ASCII message with lines of at most 998 characters
 * otherwise stays as it is, so that signatures in it remain valid. In any other message each leaf that needs it becomes base64.
 * Linear in time and memory.
 *
 * Returns null if it is not a valid message, or cannot be converted: because of 8-bit header fields, or binary or signed 8-bit
 * parts.
 */
export function embedMessage(bytes: Buffer): Buffer | null {
  const [envelope = ''] = ENVELOPE.exec(bytes.toString('latin1', 0, 1_010)) ?? []
  const raw = withCrlf(bytes.subarray(envelope.length))
  if (!beginsLegally(raw)) return null
  return isSevenBit(raw) ? raw : encodeLeaves(raw)
}

/** Converts CR, LF and CRLF to CRLF. Counts before it copies, since bytes that are all line ends become twice as many. */
function withCrlf(bytes: Buffer): Buffer {
  let count = isEnded(bytes) ? 0 : 2
  for (let at = 0; at < bytes.length; at++) if (isLoneEnd(bytes, at)) count++
  const lines = Buffer.allocUnsafeSlow(bytes.length + count)
  let end = 0
  for (let at = 0; at < bytes.length; at++) {
    const isLone = isLoneEnd(bytes, at)
    if (isLone) lines[end++] = CR
    lines[end++] = isLone ? LF : (bytes[at] as number)
  }
  if (!isEnded(bytes)) lines.write('\r\n', end, 'latin1')
  return lines
}

function isEnded(bytes: Buffer): boolean {
  return bytes.at(-1) === LF || bytes.at(-1) === CR
}

/** Tells whether a byte is half of a CRLF without the other half. */
function isLoneEnd(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]
  return (byte === LF && bytes[at - 1] !== CR) || (byte === CR && bytes[at + 1] !== LF)
}

/** Tells whether the message begins with a header of fields alone, followed by an empty line or the end of the message. */
function beginsLegally(raw: Buffer): boolean {
  const { header } = splitMessage(raw)
  if (header.length > MAX_HEADERS) return false
  const isEnded = header.length === raw.length || raw.toString('latin1', header.length, header.length + 2) === '\r\n'
  const fields = readHeader(header)
  const length = fields.reduce((sum, field) => sum + field.raw.length, 0)
  return isEnded && length === header.length && fields.some(({ name }) => REQUIRED.includes(name))
}
