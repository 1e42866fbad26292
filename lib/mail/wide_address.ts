import { asciiDomain, splitMailbox } from './address.ts'

/**
 * A mailbox from which we can receive mail. `kind` is the form of its local part; we can send only to a plain one. `local` has no
 * unnecessary quotes: `"a"@b.co` is the mailbox `a@b.co` (RFC 5321 section 4.1.2).
 */
export type WideAddress = { local: string; domain: string; kind: 'plain' | 'quoted' | 'international' }

// RFC 5322 3.2.3 and 3.2.4, with the characters of RFC 6531 3.3.
const ATEXT = "[\\w!#$%&'*+/=?^`{|}~\\-\\P{ASCII}]+"
const DOT_ATOM = new RegExp(`^${ATEXT}(?:\\.${ATEXT})*$`, 'u')
const SPEC = new RegExp(`^(${ATEXT}(?:\\.${ATEXT})*|"(?:[ !#-\\[\\]-~\\P{ASCII}]|\\\\[ -~])*")@([^@]+)$`, 'u')

// Characters that make text read differently from its bytes, and white space other than the space.
const DECEPTIVE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]|(?! )\p{Z}/u

/** In octets: RFC 5321 section 4.5.3.1.1, and RFC 3696 erratum 1690 for the whole address. */
const MAX_LOCAL = 64
const MAX_ADDRESS = 254

/**
 * Parses `local@domain` with any local part of RFC 5321 and RFC 6531; null if it is invalid. The domain is as in `asciiDomain`.
 */
export function parseWideAddress(text: string): WideAddress | null {
  const [, written = '', host = ''] = SPEC.exec(text) ?? []
  const domain = asciiDomain(host)
  if (!domain || DECEPTIVE.test(written)) return null
  const isQuoted = written.startsWith('"')
  const content = isQuoted ? written.slice(1, -1).replace(/\\(.)/g, '$1') : written
  const local = DOT_ATOM.test(content) ? content : `"${content.replace(/["\\]/g, '\\$&')}"`
  const length = Buffer.byteLength(local)
  if (length > MAX_LOCAL || length + 1 + domain.length > MAX_ADDRESS) return null
  return { local, domain, kind: /\P{ASCII}/u.test(local) ? 'international' : isQuoted ? 'quoted' : 'plain' }
}

/** Returns why a mailbox cannot be used in mail that we send, although it may exist, or null: a sentence without its full stop. */
export function explainUnsendable(text: string): string | null {
  const kind = parseWideAddress(splitMailbox(text)?.spec ?? '')?.kind ?? 'plain'
  if (kind === 'plain') return null
  return `Addresses with ${kind === 'quoted' ? 'quoted' : 'non-ASCII'} local parts are received, but cannot be sent to or from yet`
}
