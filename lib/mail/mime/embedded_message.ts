import { MAX_HEADERS } from '#lib/mail/parts/limits.ts'
import { encodeLeaves } from './encode_leaves.ts'
import { readHeader, splitMessage } from './header.ts'
import { isSevenBit } from './seven_bit.ts'

const LF = 10
const CR = 13
/** An mbox writes this line before each message. */
const ENVELOPE = /^From [^\r\n]{0,1000}(?:\r\n|\r|\n)/
/** At least one of these is in every message (RFC 2046 section 5.2.1). */
const REQUIRED = ['from', 'subject', 'date']

/**
 * Writes a message as the body of a message/rfc822 part of encoding 7bit: such a part may not be encoded as a whole
 * (RFC 2046 section 5.2.1). Lines end in CRLF, the last one too. A message of ASCII in lines of at most 998 characters is
 * otherwise left as it is, so that signatures in it stay valid. In any other each leaf that needs it becomes base64.
 * Linear in time and memory.
 *
 * Returns null if it is no legal message, or cannot be written so: 8-bit header fields, binary or signed 8-bit parts.
 */
export function embedMessage(bytes: Buffer): Buffer | null {
  const [envelope = ''] = ENVELOPE.exec(bytes.toString('latin1', 0, 1_010)) ?? []
  const raw = withCrlf(bytes.subarray(envelope.length))
  if (!beginsLegally(raw)) return null
  return isSevenBit(raw) ? raw : encodeLeaves(raw)
}

/** CR, LF and CRLF each end a line. Counts before it copies: bytes that are all line ends become twice as many. */
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

/** Whether it is a line end without its other half. */
function isLoneEnd(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]
  return (byte === LF && bytes[at - 1] !== CR) || (byte === CR && bytes[at + 1] !== LF)
}

/** With a header of fields alone, which an empty line or the end of the message follows. */
function beginsLegally(raw: Buffer): boolean {
  const { header } = splitMessage(raw)
  if (header.length > MAX_HEADERS) return false
  const isEnded = header.length === raw.length || raw.toString('latin1', header.length, header.length + 2) === '\r\n'
  const fields = readHeader(header)
  const length = fields.reduce((sum, field) => sum + field.raw.length, 0)
  return isEnded && length === header.length && fields.some(({ name }) => REQUIRED.includes(name))
}
