import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** 2000::/3 is the whole public IPv6 internet (RFC 4291 section 2.4), without addresses such as `::7f00:1`. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** Returns the addresses of this host's interfaces. Read each time, since addresses change. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(all => all?.map(({ address }) => address) ?? [])
}

/** Tells whether an address is that of one host on the public internet. False for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(globalUnicast))
}
