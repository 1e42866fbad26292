import { hasOverlongWord, MAX_WORD } from '#lib/mail/mime/custom_field.ts'
import { isFieldName } from '#lib/mail/mime/field.ts'

/** Maximum number of custom headers of a message. */
export const MAX_HEADERS = 100
/** Maximum characters in the value of a header. */
export const MAX_HEADER_VALUE = 8000

// Headers that cannot be custom: those that the message is built from, and those that receivers trust us or themselves to have
// written. A custom `Bcc` would add an envelope recipient, and a second `From` would be shown in place of the signed one.
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
// Characters that end a line in some systems (RFC 5322 2.1, Unicode 5.8), or are not allowed in one, except a tab.
const BREAKING = /(?!\t)[\p{Cc}\p{Zl}\p{Zp}]/u

/**
 * Tells whether a header is ours to write: from the fields of an email, or for its transport. Complete messages that are
 * submitted have such headers too.
 */
export function isReservedHeader(name: string): boolean {
  return FIELD_OF.has(name.toLowerCase()) || RESERVED.test(name)
}

/** Returns why a custom header is rejected, in words that follow its name, or null. */
export function validateHeader(name: string, value: string): string | null {
  if (!isFieldName(name)) return 'is not a header name: 1 to 64 printable ASCII characters without `:` and `;`'
  const field = FIELD_OF.get(name.toLowerCase())
  if (field) return `is set by the \`${field}\` field`
  if (RESERVED.test(name)) return 'is reserved'
  if (value.length > MAX_HEADER_VALUE) return `is longer than ${MAX_HEADER_VALUE.toLocaleString('en')} characters`
  if (BREAKING.test(value)) return 'contains a line break or control character'
  if (hasOverlongWord(name, value)) return `contains an id or a URL of more than ${MAX_WORD} characters`
  return null
}

/** Returns the first invalid header and the reason, or null. Names that differ only in case are the same header given twice. */
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
