import { readHeader } from '#lib/mail/mime/header.ts'

/**
 * Signatures that are checked. Each may cause a look-up and a different canonicalization of the body; RFC 6376 section 6.1 allows
 * a limit.
 */
const MAX_SIGNATURES = 8

/** mailauth's time is quadratic in the lines of the header: 40,000 of them take 14 seconds. */
const MAX_LINES = 2_000
const MAX_BYTES = 256 * 1024

/**
 * Returns the message with only the first signatures, which were added last, and without lines that are not fields: mailauth adds
 * them to the field above, so that it would check another author than we show. Null if its header is too large to be checked. The
 * header ends where mailauth ends it, since this limits mailauth's time.
 */
export function limitHeader(raw: Buffer): Buffer | null {
  const end = raw.indexOf('\r\n\r\n')
  const length = end === -1 ? raw.length : end + 2
  if (length > MAX_BYTES) return null
  const header = raw.subarray(0, length)
  if (header.toString('latin1').split(/(?<=\n)/).length > MAX_LINES) return null
  const fields = readHeader(header)
  const surplus = new Set(fields.filter(({ name }) => name === 'dkim-signature').slice(MAX_SIGNATURES))
  const kept = fields.filter(field => !surplus.has(field)).map(field => field.raw)
  const isWhole = kept.reduce((sum, { length }) => sum + length, 0) === header.length
  return isWhole ? raw : Buffer.concat([...kept, raw.subarray(length)])
}
