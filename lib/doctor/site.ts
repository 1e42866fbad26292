import ipaddr from 'ipaddr.js'
import type { Config } from '#lib/config.ts'
import { defaultTransport } from '#lib/delivery/relay_urls.ts'
import type { Dns } from '#lib/net/dns.ts'
import { hostAddresses, isPublicAddress } from '#lib/net/host_addresses.ts'
import type { About, Finding } from './finding.ts'

/** The host that sends mail, and how it sends. */
export type Site = {
  config: Config
  dns: Dns
  /** Public addresses that mail is sent from; empty if they are not known here. */
  addresses: string[]
  /** Transports of domains that do not use MAIL_TRANSPORT. */
  transports: TransportKind[]
}

export type TransportKind = ReturnType<typeof defaultTransport>

/** True if some mail goes directly to its receivers, so that the reputation of this host matters. */
export function isDirect({ config, transports }: Site): boolean {
  return defaultTransport(config) === 'direct' || transports.includes('direct')
}

/** Reports a fault that only affects direct mail: a problem if there is such mail, else a warning. */
export function fault(site: Site, report: About): (finding: string, fix?: string) => Finding {
  return isDirect(site) ? report.problem : report.warning
}

/**
 * Returns the public addresses of this host: those `given` by the operator, else the ones of its interfaces. If these have none
 * of a family, as is usual for IPv4 behind NAT, the addresses of its host name are used for that family.
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
