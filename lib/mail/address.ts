import { domainToASCII, domainToUnicode } from 'node:url'

/** One mailbox. `address` keeps the case of its local part; `domain` is its lower-case ASCII (punycode) domain. */
export type Address = { name: string | null; address: string; domain: string }

// RFC 5322 3.2.3. There is no `i` flag beside `u` in this file: it would match U+212A as a k.
const ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-"
const ADDR_SPEC = new RegExp(`^([${ATEXT}]+(?:\\.[${ATEXT}]+)*)@([^@]+)$`)
const QUOTED = /"((?:[^"\\]|\\.)*)"/g
// White space that people copy along with an address.
const AROUND = /^[\t\p{Zs}]+|(?<![\t\p{Zs}])[\t\p{Zs}]+$/gu
const BARE_NAME = new RegExp(`^[${ATEXT}\\P{ASCII}]+(?: [${ATEXT}\\P{ASCII}]+)*$`, 'u')
// RFC 1123 2.1. Since the last label must begin with a letter, no spelling of an IPv4 address matches.
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

// Line breaks, characters that make text read differently from its bytes, and lone surrogates.
const DECEPTIVE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u
const ENCODED_WORD = /=\?[^? ]+\?[bq]\?/i

const MAX_TEXT = 1000
const MAX_LOCAL = 64
const MAX_ADDRESS = 254

/**
 * Parses exactly one mailbox, `email@domain` or `Name <email@domain>`; returns null if it is invalid. The address is stricter
 * than RFC 5322 3.4: no lists, groups, comments, routes or folding. The local part is a dot-atom of at most 64 ASCII characters
 * (RFC 5321 4.1.2 advises against mailboxes that need quoting), the domain is as in `asciiDomain`, the address has at most 254
 * characters (RFC 3696 erratum 1690), and the text at most 1,000.
 *
 * The name is wider than the RFC: everything before the one `<...>` at the end, as people write it, such as `Acme, Inc.` and
 * `Acme (EU)`. Quoted strings in it lose their quotes, and runs of spaces become one space. Rejected are angle brackets outside
 * of quotes, text that reads as a list of mailboxes, control and bidi control characters, and encoded-words, which could contain
 * them.
 */
export function parseAddress(text: string): Address | null {
  const mailbox = splitMailbox(text)
  const name = mailbox && parseName(mailbox.phrase)
  const spec = mailbox && ADDR_SPEC.exec(mailbox.spec)
  if (name === undefined || !spec) return null

  const [, local = '', written = ''] = spec
  const domain = asciiDomain(written)
  if (!domain || local.length > MAX_LOCAL || local.length + 1 + domain.length > MAX_ADDRESS) return null
  return { name, address: `${local}@${domain}`, domain }
}

/** Parses an address that was checked when it was stored. */
export function storedAddress(text: string): Address {
  const found = parseAddress(text)
  if (!found) throw new Error(`The stored address ${JSON.stringify(text)} is not valid.`)
  return found
}

/** Returns the address as it is written and the text before its `<`, both unchecked; null if the text is too long. */
export function splitMailbox(text: string): { phrase: string; spec: string } | null {
  if (text.length > MAX_TEXT) return null
  const trimmed = text.replace(AROUND, '')
  const angle = trimmed.endsWith('>') ? trimmed.lastIndexOf('<') : -1
  return angle === -1
    ? { phrase: '', spec: trimmed }
    : { phrase: trimmed.slice(0, angle), spec: trimmed.slice(angle + 1, -1) }
}

/**
 * Returns a host name of at least two labels in lower-case ASCII (IDNA by UTS 46: `Bücher.de` is `xn--bcher-kva.de`), or null. IP
 * addresses and a trailing dot are rejected. Labels have at most 63 letters, digits and inner hyphens.
 */
export function asciiDomain(text: string): string | null {
  const lower = text.toLowerCase()
  if (HOST.test(lower)) return lower

  // domainToASCII drops invisible characters, decodes %62 and cuts at a slash, so it must not get any of these.
  if (!/^[A-Za-z0-9.\-\P{ASCII}]+$/u.test(text) || INVISIBLE.test(text)) return null
  const domain = domainToASCII(text)
  return HOST.test(domain) ? domain : null
}

/**
 * Returns text to search addresses for, with the domain at its end as addresses have it: `Ann@Bücher.de` becomes
 * `Ann@xn--bcher-kva.de`. Any other text is returned unchanged, also if the character before the `@` is not ASCII, since no such
 * address can be sent to.
 */
export function searchedAddress(text: string): string {
  return text.replace(/(?<!\P{ASCII})@([^@<>\s]+)(>?)$/u, (written, domain: string, end: string) => {
    const ascii = /\P{ASCII}/u.test(domain) && asciiDomain(domain)
    return ascii ? `@${ascii}${end}` : written
  })
}

/** Converts the domain of an address from Unicode (RFC 6531) to ASCII, unless that would make another one of it. */
export function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf('@') + 1
  const domain = address.slice(at)
  const ascii = at > 0 && /\P{ASCII}/u.test(domain) ? asciiDomain(domain) : null
  return ascii && domainToUnicode(ascii) === domain.toLowerCase() ? address.slice(0, at) + ascii : address
}

/** Returns the domain of an address, in lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** Formats a mailbox so that it parses back to the same: `Name <email@domain>`, with the name in Unicode, quoted if necessary. */
export function formatAddress({ name, address }: Pick<Address, 'name' | 'address'>): string {
  if (name === null) return address
  return `${BARE_NAME.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <${address}>`
}

/** Returns the name that a phrase stands for, null if it is empty, undefined if it is rejected. */
function parseName(phrase: string): string | null | undefined {
  if (phrase === '') return null // most addresses: the checks below run for every recipient
  const line = phrase.replaceAll('\t', ' ')
  const unquoted = line.replace(QUOTED, '""')
  if (DECEPTIVE.test(line) || /[<>]/.test(unquoted) || isList(unquoted)) return undefined
  const words = line.replace(QUOTED, (_, inner: string) => inner.replace(/\\(.)/g, '$1'))
  const name = words.replace(/ +/g, ' ').trim()
  return ENCODED_WORD.test(name) ? undefined : name || null
}

/**
 * Tells whether text before a `<` has an address before a comma, as in `a@b.co, Jane <c@d.co>`: it must not be read as a name,
 * since the first of these two recipients would silently get nothing. The address may follow the name of a group and a colon
 * (RFC 5322 3.4).
 */
function isList(phrase: string): boolean {
  const entries = phrase
    .replace(/\([^()]*\)/g, '')
    .split(/[,;]/)
    .slice(0, -1)
  return entries.some(entry => /^(?:[^:]*:)?\s*\S+@\S+\s*$/.test(entry))
}
