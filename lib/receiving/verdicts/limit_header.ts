import { readHeader } from '#lib/mail/mime/header.ts'

/** Each may ask for a name, and read the body in a way of its own: RFC 6376 section 6.1 lets a verifier set a limit. */
const MAX_SIGNATURES = 8

/** The time that mailauth takes for a header grows with the square of its lines: 40,000 of them take 14 seconds. */
const MAX_LINES = 2_000
const MAX_BYTES = 256 * 1024

/**
 * The message without the signatures below the first ones, which were added last. Null: its header is not to be read. It
 * ends where mailauth ends it, whose time is limited here.
 */
export function limitHeader(raw: Buffer): Buffer | null {
  const end = raw.indexOf('\r\n\r\n')
  const length = end === -1 ? raw.length : end + 2
  if (length > MAX_BYTES) return null
  const header = raw.subarray(0, length)
  if (header.toString('latin1').split(/(?<=\n)/).length > MAX_LINES) return null
  const fields = readHeader(header)
  const surplus = new Set(fields.filter(({ name }) => name === 'dkim-signature').slice(MAX_SIGNATURES))
  if (surplus.size === 0) return raw
  const kept = fields.filter(field => !surplus.has(field)).map(field => field.raw)
  return Buffer.concat([...kept, raw.subarray(length)])
}
