import { domainToASCII } from 'node:url'

/** One mailbox. `address` keeps the case of its local part; `domain` is its lower-case ASCII (punycode) domain. */
export type Address = { name: string | null; address: string; domain: string }

// RFC 5322 3.2.3. No `i` flag beside `u` anywhere here: it would take U+212A for a k.
const ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-"
const ADDR_SPEC = new RegExp(`^([${ATEXT}]+(?:\\.[${ATEXT}]+)*)@([^@]+)$`)
// Words and quoted strings; dots after the first word, as everybody writes `J. Doe` (RFC 5322 4.1).
const PHRASE = new RegExp(`^(?![. ])(?:"(?:[^"\\\\]|\\\\.)*"|[${ATEXT}\\P{ASCII}. ])*$`, 'u')
const QUOTED = /"((?:[^"\\]|\\.)*)"/g
const BARE_NAME = new RegExp(`^[${ATEXT}\\P{ASCII}]+(?: [${ATEXT}\\P{ASCII}]+)*$`, 'u')
// RFC 1123 2.1. A last label that begins with a letter keeps out every spelling of an IPv4 address.
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/

// Lines of their own, text that reads other than it is stored, halves of a character.
const DECEPTIVE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u
const ENCODED_WORD = /=\?[^? ]+\?[bq]\?/i

const MAX_TEXT = 1000
const MAX_LOCAL = 64
const MAX_ADDRESS = 254

/**
 * Reads exactly one mailbox, `email@domain` or `Name <email@domain>` (RFC 5322 3.4), or null. Stricter than the RFC:
 * no lists, groups, comments, routes, folding or space around the address; the local part a dot-atom of at most 64
 * ASCII characters (RFC 5321 4.1.2 advises against mailboxes that need quoting); the domain as `asciiDomain` says; the
 * address at most 254 characters (RFC 3696 erratum 1690), the text at most 1,000. Names are Unicode: no control or bidi
 * control characters, and no encoded-words, which would smuggle them in; runs of spaces become one.
 */
export function parseAddress(text: string): Address | null {
  if (text.length > MAX_TEXT) return null
  const angle = text.endsWith('>') ? text.lastIndexOf('<') : -1
  const name = angle === -1 ? null : parseName(text.slice(0, angle))
  const spec = ADDR_SPEC.exec(angle === -1 ? text : text.slice(angle + 1, -1))
  if (name === undefined || !spec) return null

  const [, local = '', written = ''] = spec
  const domain = asciiDomain(written)
  if (!domain || local.length > MAX_LOCAL || local.length + 1 + domain.length > MAX_ADDRESS) return null
  return { name, address: `${local}@${domain}`, domain }
}

/**
 * A host name of two labels or more as lower-case ASCII (IDNA by UTS 46: `Bücher.de` is `xn--bcher-kva.de`), or null.
 * No IP address, no trailing dot, labels of at most 63 letters, digits and inner hyphens.
 */
export function asciiDomain(text: string): string | null {
  const lower = text.toLowerCase()
  if (HOST.test(lower)) return lower

  // domainToASCII drops what it finds invisible, decodes %62 and cuts at a slash: it must not see them.
  if (!/^[A-Za-z0-9.\-\P{ASCII}]+$/u.test(text) || INVISIBLE.test(text)) return null
  const domain = domainToASCII(text)
  return HOST.test(domain) ? domain : null
}

/** The domain of an address, in lower case. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** The text that parses back to the same mailbox: `Name <email@domain>`, the name in Unicode, quoted where it must be. */
export function formatAddress({ name, address }: Pick<Address, 'name' | 'address'>): string {
  if (name === null) return address
  return `${BARE_NAME.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <${address}>`
}

/** What stands before the `<`: the name, null when there is none, undefined when it is refused. */
function parseName(phrase: string): string | null | undefined {
  if (!PHRASE.test(phrase) || DECEPTIVE.test(phrase)) return undefined
  const words = phrase.replace(QUOTED, (_, inner: string) => inner.replace(/\\(.)/g, '$1'))
  const name = words.replace(/ +/g, ' ').trim()
  return ENCODED_WORD.test(name) ? undefined : name || null
}
