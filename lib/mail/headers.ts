/** A message may carry this many headers of its own. */
export const MAX_HEADERS = 100
/** Characters in one header's value. */
export const MAX_HEADER_VALUE = 8000

const NAME = /^[A-Za-z0-9-]{1,64}$/
// A custom `Bcc` adds an envelope recipient, a second `From` is shown in place of the signed one: each header that the
// message is built from, or that a receiver trusts us or itself to have written, is ours.
const FIELD_OF = new Map([
  ['from', 'from'],
  ['to', 'to'],
  ['cc', 'cc'],
  ['bcc', 'bcc'],
  ['reply-to', 'reply_to'],
  ['subject', 'subject'],
])
const RESERVED =
  /^(?:sender|date|message-id|mime-version|received|return-path|authentication-results|(?:content|dkim|arc|resent|x-mailbrook)-.*)$/i
// What ends a line somewhere (RFC 5322 2.1, Unicode 5.8), or may not stand in one; a tab may.
const BREAKING = /(?!\t)[\p{Cc}\p{Zl}\p{Zp}]/u

/** Whether a header is written by us, from the fields of an email or for its way: who sends a whole message has them too. */
export function isReservedHeader(name: string): boolean {
  return FIELD_OF.has(name.toLowerCase()) || RESERVED.test(name)
}

/** Why a custom header is refused, as words to follow its name, or null. */
export function validateHeader(name: string, value: string): string | null {
  if (!NAME.test(name)) return 'is not a header name of 1 to 64 letters, digits and hyphens'
  const field = FIELD_OF.get(name.toLowerCase())
  if (field) return `is set by the \`${field}\` field`
  if (RESERVED.test(name)) return 'is reserved'
  if (value.length > MAX_HEADER_VALUE) return `is longer than ${MAX_HEADER_VALUE.toLocaleString('en')} characters`
  if (BREAKING.test(value)) return 'contains a line break or control character'
  return null
}

/** The first header that is refused and why, or null. Names that differ only by case are one header given twice. */
export function validateHeaders(headers: Record<string, string>): { name: string; reason: string } | null {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const reason =
      validateHeader(name, value) ??
      (seen.has(name.toLowerCase()) ? 'is given twice' : null) ??
      (seen.size === MAX_HEADERS ? `is one more than the ${MAX_HEADERS} headers allowed` : null)
    if (reason) return { name, reason }
    seen.add(name.toLowerCase())
  }
  return null
}
