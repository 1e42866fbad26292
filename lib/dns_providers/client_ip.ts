import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { ProviderError } from './provider_error.ts'

/** The public IPv4 address of this host, or the one that its operator says it is seen at. @throws {ProviderError} */
export function clientIp(configured: string | undefined): string {
  const own = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  const address = configured ?? own.map(({ address }) => address).find(isPublicIpv4)
  if (address !== undefined) return address
  throw new ProviderError(
    'Namecheap has to be told the public IPv4 address of this server, which has none itself: the operator may set NAMECHEAP_CLIENT_IP.',
  )
}

function isPublicIpv4(address: string): boolean {
  return ipaddr.IPv4.isValid(address) && ipaddr.IPv4.parse(address).range() === 'unicast'
}
