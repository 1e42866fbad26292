import { parseWideAddress } from '#lib/mail/wide_address.ts'

/**
 * Ways of old to write the route of a message into its address (RFC 5321 appendix C), in quotes too: `user%other@here`,
 * `other!user@here`, `"user@other"@here`.
 */
const ROUTES = /[%!@]/

/** The address of a RCPT command, or null when it is none that mail is received for. */
export function parseRecipient(text: string): { address: string; domain: string } | null {
  const parsed = parseWideAddress(text)
  if (!parsed || ROUTES.test(parsed.local)) return null
  return { address: `${parsed.local}@${parsed.domain}`, domain: parsed.domain }
}

/** The one recipient without a domain (RFC 5321 section 4.5.1): whoever runs this server. */
export function isBarePostmaster(text: string): boolean {
  return /^postmaster$/i.test(text)
}
