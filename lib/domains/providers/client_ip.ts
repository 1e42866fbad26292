import { isIPv4 } from 'node:net'
import { hostAddresses, isPublicAddress } from '#lib/net/host_addresses.ts'
import { ProviderError } from './provider_error.ts'

/** Returns the address that the operator configured, or this host's public IPv4 address. @throws {ProviderError} */
export function clientIp(configured: string | undefined): string {
  const address = configured ?? hostAddresses().find(own => isIPv4(own) && isPublicAddress(own))
  if (address !== undefined) return address
  throw new ProviderError(
    'Namecheap requires the public IPv4 address of this server, which is not known: the operator can set NAMECHEAP_CLIENT_IP.',
  )
}
