import ipaddr from 'ipaddr.js'
import type { Config } from '#lib/config.ts'
import { defaultTransport } from '#lib/delivery/relay_urls.ts'
import type { Dns } from '#lib/net/dns.ts'
import { hostAddresses, isPublicAddress } from '#lib/net/host_addresses.ts'
import type { About, Finding } from './finding.ts'

/** Where mail leaves from, and how. */
export type Site = {
  config: Config
  dns: Dns
  /** Public addresses that mail leaves from; none: they are not known here. */
  addresses: string[]
  /** Of domains that do not leave as MAIL_TRANSPORT says. */
  transports: TransportKind[]
}

export type TransportKind = ReturnType<typeof defaultTransport>

/** Some mail goes straight to its receivers: then what they think of this host decides on it. */
export function isDirect({ config, transports }: Site): boolean {
  return defaultTransport(config) === 'direct' || transports.includes('direct')
}

/** A fault of what only direct mail needs: told beforehand, but nothing is lost by it. */
export function fault(site: Site, tell: About): (finding: string, fix?: string) => Finding {
  return isDirect(site) ? tell.problem : tell.warning
}

/**
 * The public addresses of this host: `given` by the operator, else those of its interfaces. Behind a translation of
 * addresses, as IPv4 often is, it has none of that kind: then those that its name leads to.
 */
export async function findAddresses(
  given: string[],
  helo_name: string,
  dns: Dns,
  interfaces: string[] = hostAddresses(),
): Promise<string[]> {
  if (given.length > 0) return given
  const own = interfaces.filter(isPublicAddress)
  const answer = helo_name.includes('.') ? await dns.addresses(helo_name) : null
  const named = answer?.outcome === 'found' ? answer.records.filter(isPublicAddress) : []
  return [...own, ...named.filter(address => !own.some(other => addressType(other) === addressType(address)))]
}

export function addressType(address: string): 'A' | 'AAAA' {
  return ipaddr.process(address).kind() === 'ipv4' ? 'A' : 'AAAA'
}
