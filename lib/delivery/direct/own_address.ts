import ipaddr from 'ipaddr.js'
import { type AddressPolicy, ownAddresses } from '#lib/net/fetch_safely.ts'

/**
 * Whether it is this host's: what lists it as a mail server means us. Loopback is nobody's, as every host has it, and
 * what the operator allows is another server on this host.
 */
export function isOwnAddress(address: string, { allowed }: AddressPolicy): boolean {
  const ip = ipaddr.process(address)
  if (ip.range() === 'loopback' || allowed?.check(ip.toString(), ip.kind())) return false
  return ownAddresses().check(ip.toString(), ip.kind())
}
