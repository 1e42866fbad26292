import ipaddr from 'ipaddr.js'
import { type AddressPolicy, ownAddresses } from '#lib/net/fetch_safely.ts'

/**
 * Tells whether an address is this host's own, so that a domain that lists it as a mail server means us. Loopback addresses do
 * not count, since every host has them. Addresses that the operator allows do not count either: they are another server on this
 * host.
 */
export function isOwnAddress(address: string, { allowed }: AddressPolicy): boolean {
  const ip = ipaddr.process(address)
  if (ip.range() === 'loopback' || allowed?.check(ip.toString(), ip.kind())) return false
  return ownAddresses().check(ip.toString(), ip.kind())
}
