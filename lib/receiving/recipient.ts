import { parseWideAddress } from '#lib/mail/wide_address.ts'

/**
 * Characters of obsolete source routes in an address (RFC 5321 appendix C), also in quotes: `user%other@here`, `other!user@here`,
 * `"user@other"@here`.
 */
const ROUTES = /[%!@]/

/** Returns the address of a RCPT command, or null if it is invalid for received mail. */
export function parseRecipient(text: string): { address: string; domain: string } | null {
  const parsed = parseWideAddress(text)
  if (!parsed || ROUTES.test(parsed.local)) return null
  return { address: `${parsed.local}@${parsed.domain}`, domain: parsed.domain }
}

/** Detects the only recipient without a domain (RFC 5321 section 4.5.1), which is the operator of this server. */
export function isBarePostmaster(text: string): boolean {
  return /^postmaster$/i.test(text)
}
