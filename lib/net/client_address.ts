import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/**
 * Parses addresses and networks, such as `10.0.0.0/8, fd00::1`.
 *
 * @throws {RangeError} naming the first invalid entry
 */
export function parseNetworks(text: string): BlockList {
  const networks = new BlockList()
  for (const entry of text.split(',').map(part => part.trim())) {
    const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
    const bits = { 4: 32, 6: 128 }[isIP(address)] ?? 0
    const length = Number(prefix ?? bits)
    if (bits === 0 || length > bits) {
      throw new RangeError(`"${entry}" is neither an address nor a network such as 10.0.0.0/8`)
    }
    networks.addSubnet(address, length, familyOf(address))
  }
  return networks
}

/**
 * Returns the address that a request comes from: the peer of the connection or, while that is a trusted proxy, the address before
 * it in X-Forwarded-For, from the right. Entries to the left of the first untrusted address may be forged and are ignored, as are
 * those to the left of an invalid address.
 */
export function findClient(peer: string, forwarded_for: string, trusted: BlockList | undefined): string {
  let client = unmap(peer)
  if (!trusted) return client
  const hops = forwarded_for.split(',')
  while (hops.length > 0 && isIP(client) && trusted.check(client, familyOf(client))) {
    const address = addressOf((hops.pop() as string).trim())
    if (address === null) break
    client = unmap(address)
  }
  return client
}

/**
 * Returns the network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, since each host has a whole /64.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const network = groupsOf(address).slice(0, 4)
  return `${network.map(group => group.toString(16)).join(':')}::/64`
}

/** Parses an entry. Some proxies add the port: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
function addressOf(hop: string): string | null {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(hop) ?? []
  const address = bracketed ?? plain ?? hop
  return isIP(address) ? address : null
}

/**
 * Normalizes an address. IPv4 is `::ffff:192.0.2.1` if the same socket serves IPv6; a zone (`%eth0`) has no meaning elsewhere.
 */
function unmap(address: string): string {
  if (!isIPv6(address)) return address
  // The form that sockets report.
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice('::ffff:'.length)
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  const isMapped = groups.slice(0, 5).every(group => group === 0) && groups[5] === 0xffff
  return isMapped ? [high >> 8, high & 255, low >> 8, low & 255].join('.') : address.replace(/%.*/, '')
}

/** Returns the eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  // A URL has them in hexadecimal only, even if the end was written as IPv4.
  const { hostname } = new URL(`http://[${address.replace(/%.*/, '')}]`)
  const [left = [], right = []] = hostname
    .slice(1, -1)
    .split('::')
    .map(part => part.split(':').filter(Boolean))
  const zeros = Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...zeros, ...right].map(group => Number.parseInt(group, 16))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}
