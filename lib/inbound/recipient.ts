import { type Address, parseAddress } from '../address.ts'

/** Ways of old to write the route of a message into its address (RFC 5321 appendix C): `user%other@here`, `other!user@here`. */
const ROUTES = /[%!]/

/** The address of a RCPT command, or null when it is none that mail is received for. Only `postmaster` needs no domain. */
export function parseRecipient(text: string, server_domain: string): Address | null {
  const address = parseAddress(/^postmaster$/i.test(text) ? `${text}@${server_domain}` : text)
  return address && address.name === null && !ROUTES.test(address.address) ? address : null
}
