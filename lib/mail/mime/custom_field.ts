import { asciiDomain } from '#lib/mail/address.ts'
import { encodedWords } from './encoded_word.ts'
import { atomsField, type HeaderField, rawField, withoutControls } from './field.ts'

// Nobody decodes encoded-words in ids, URLs and addresses (RFC 2047 section 5).
const IDS = /^(?:references|in-reply-to)$/i
const URLS = /^list-(?:unsubscribe|subscribe|help|post|owner|archive)$/i
const NAMED = /^(?:list-id|disposition-notification-to|return-receipt-to|errors-to)$/i

/** Longest id or URL, since it must be on one line of at most 998 characters (RFC 5322 section 2.1.1). */
export const MAX_WORD = 990
/** Looks only where a word begins: from each character on, it would take time that grows with the square of the length. */
const TOO_LONG = new RegExp(`(?<!\\S)\\S{${MAX_WORD + 1}}`)

const NOT_ASCII = /[^\t -~]+/g
const URL_TEXTS = /[^\s<>(),]+/g
const NAME_AND_VALUE = /^([^<>]*[^<> ]) *<([^<>@]*@)?([^<>@]+)>$/

/** Returns a field that a sender adds, as `rawField` does, or null if nothing in it can be written. */
export function customField(name: string, text: string): HeaderField | null {
  const value = withoutControls(text).trim()
  if (value.search(NOT_ASCII) === -1 && !TOO_LONG.test(value)) return rawField(name, text)
  const words = wordsOf(name, value)
  if (words) {
    const writable = words.filter(word => word.search(NOT_ASCII) === -1 && word.length <= MAX_WORD)
    return writable.length > 0 ? atomsField(name, writable) : null
  }
  const atoms = NAMED.test(name) ? namedAtoms(value) : null
  return atoms ? atomsField(name, atoms) : rawField(name, text)
}

/** Tells whether a value has an id or a URL that cannot be written. */
export function hasOverlongWord(name: string, value: string): boolean {
  return wordsOf(name, value)?.some(word => word.length > MAX_WORD) ?? false
}

/** Returns the ids or URLs of a field, with ASCII URLs; null if it has neither. */
function wordsOf(name: string, value: string): string[] | null {
  // Copied text may have white space that is not ASCII.
  if (IDS.test(name)) return value.replaceAll('><', '> <').split(/\s+/)
  return URLS.test(name) ? value.replaceAll(URL_TEXTS, asciiUrl).split(/\s+/) : null
}

function asciiUrl(text: string): string {
  if (text.search(NOT_ASCII) === -1) return text
  if (URL.canParse(text)) return new URL(text).href
  return text.toWellFormed().replaceAll(NOT_ASCII, encodeURIComponent)
}

/** Returns an encoded name and the address or id in angle brackets after it; null if the value has another form. */
function namedAtoms(value: string): string[] | null {
  const [, name = '', local = '', written = ''] = NAME_AND_VALUE.exec(value) ?? []
  const domain = asciiDomain(written)
  if (!domain || local.search(NOT_ASCII) !== -1 || TOO_LONG.test(local)) return null
  return [...encodedWords(name.replace(/^"(.*)"$/, '$1')), `<${local}${domain}>`]
}
