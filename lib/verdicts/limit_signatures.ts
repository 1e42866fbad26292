/** Each may ask for a name, and read the body in a way of its own: RFC 6376 section 6.1 lets a verifier set a limit. */
const MAX_SIGNATURES = 8

const isSignature = /^dkim-signature[ \t]*:/i

/** The message without the signatures below the first ones, which were added last. */
export function limitSignatures(raw: Buffer): Buffer {
  const end = raw.indexOf('\r\n\r\n')
  const head = raw.toString('latin1', 0, end === -1 ? raw.length : end + 2)
  const fields = head.split(/(?<=\r\n)(?![ \t])/)
  let left = MAX_SIGNATURES
  const kept = fields.filter(field => !isSignature.test(field) || left-- > 0)
  if (kept.length === fields.length) return raw
  return Buffer.concat([Buffer.from(kept.join(''), 'latin1'), raw.subarray(head.length)])
}
