/** Each may ask for a name, and read the body in a way of its own: RFC 6376 section 6.1 lets a verifier set a limit. */
const MAX_SIGNATURES = 8

/** The time that mailauth takes for a header grows with the square of its lines: 40,000 of them take 14 seconds. */
const MAX_LINES = 2_000
const MAX_BYTES = 256 * 1024

const isSignature = /^dkim-signature[ \t]*:/i

/** The message without the signatures below the first ones, which were added last. Null: its header is not to be read. */
export function limitHeader(raw: Buffer): Buffer | null {
  const end = raw.indexOf('\r\n\r\n')
  const length = end === -1 ? raw.length : end + 2
  if (length > MAX_BYTES) return null
  const lines = raw.toString('latin1', 0, length).split(/(?<=\n)/)
  if (lines.length > MAX_LINES) return null
  const kept = withoutSurplus(lines)
  if (kept.length === lines.length) return raw
  return Buffer.concat([Buffer.from(kept.join(''), 'latin1'), raw.subarray(length)])
}

function withoutSurplus(lines: string[]): string[] {
  let left = MAX_SIGNATURES
  let isKept = true
  return lines.filter(line => {
    if (!/^[ \t]/.test(line)) isKept = !isSignature.test(line) || left-- > 0
    return isKept
  })
}
