import { BlockList, isIP, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { hostAddresses, isPublicAddress } from '#lib/net/host_addresses.ts'
import { createResolve, type Resolve } from './resolve.ts'

/** The addresses that may be connected to. */
export type AddressPolicy = {
  /** Allowed although they are not public, such as an operator's own receiver. */
  allowed?: BlockList | undefined
  /** Never allowed, whatever else allows them. */
  denied?: BlockList | undefined
}

/** The URLs that may be fetched. */
export type FetchPolicy = AddressPolicy & { ports: readonly number[]; resolve: Resolve }

const localName = /^(?:.*\.)?localhost$/

/** Azure's wire server returns a machine's secrets at an address that is formally public. */
const neverPublic = new BlockList()
neverPublic.addAddress('168.63.129.16')

/** The operator's settings, named as in the environment. */
type Settings = {
  FETCH_PORTS: readonly number[]
  FETCH_ALLOW?: BlockList | undefined
  FETCH_DENY?: BlockList | undefined
  DNS_SERVERS?: string[] | undefined
}

export function fetchPolicy({ FETCH_PORTS, FETCH_ALLOW, FETCH_DENY, DNS_SERVERS }: Settings): FetchPolicy {
  return { ports: FETCH_PORTS, allowed: FETCH_ALLOW, denied: FETCH_DENY, resolve: createResolve(DNS_SERVERS) }
}

/**
 * Checks a URL without looking up its host. Returns an error for the caller who gave it to us, `must be ...`, or null. Null does
 * not mean that it may be fetched: the addresses of a name are checked when it is fetched. The URL parser turns spellings such as
 * `0x7f.1`, `①②⑦.1`, `127.1.` or `[::ffff:127.0.0.1]` into one address, which is checked.
 */
export function findUrlFault(url: string, policy: FetchPolicy): string | null {
  if (!URL.canParse(url)) return 'must be a URL'
  const parsed = new URL(url)
  if (!/^https?:$/.test(parsed.protocol)) return 'must begin with http:// or https://'
  if (parsed.username || parsed.password) return 'must not have a user name or password'
  if (!policy.ports.includes(portOf(parsed))) return `must be on port ${orList(policy.ports)}`
  const host = hostOf(parsed)
  const isPublic = isIP(host) ? isAllowedAddress(host, policy) : !localName.test(host)
  return isPublic ? null : 'must be on a public host, or on one that the operator of this server allows (FETCH_ALLOW)'
}

/** Tells whether this address may be connected to. One that is not known to be public may not. */
export function isAllowedAddress(address: string, policy: AddressPolicy): boolean {
  if (!isIP(address) || address.includes('%')) return false // a zone is an interface of this host
  const ip = ipaddr.process(address)
  const isIn = (networks: BlockList | undefined) => networks?.check(ip.toString(), ip.kind()) ?? false
  if (isIn(policy.denied)) return false
  if (isIn(policy.allowed)) return true
  return isPublicAddress(address) && !isIn(neverPublic) && !isIn(ownAddresses())
}

/** Returns the name or address of a URL's host, without brackets and a trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|(?<!\.)\.+$/g, '')
}

export function portOf(url: URL): number {
  return Number(url.port || (url.protocol === 'https:' ? 443 : 80))
}

/** Returns the addresses of this host. They are denied, since they lead to services that listen behind the firewall. */
export function ownAddresses(): BlockList {
  const own = new BlockList()
  for (const address of hostAddresses()) own.addAddress(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return own
}

function orList(ports: readonly number[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(ports.map(String))
}
