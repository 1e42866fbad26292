import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** 2000::/3 is all there is of the public IPv6 internet (RFC 4291 section 2.4), without `::7f00:1` and its like. */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** Of the interfaces of this host. Read each time: addresses come and go. */
export function hostAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap(all => all?.map(({ address }) => address) ?? [])
}

/** Whether it is one host's on the public internet. What is no address is not. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(globalUnicast))
}
