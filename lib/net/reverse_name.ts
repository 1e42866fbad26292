import ipaddr from 'ipaddr.js'

/** The labels of an address in the reverse order: bytes of IPv4 in decimal, of IPv6 its 32 digits (RFC 3596 2.5). */
export function reverseLabels(address: string): string {
  const ip = ipaddr.process(address)
  const labels =
    ip.kind() === 'ipv4'
      ? ip.toByteArray().map(String)
      : ip.toByteArray().flatMap(byte => [...byte.toString(16).padStart(2, '0')])
  return labels.reverse().join('.')
}

/** Where the PTR record of an address is. */
export function reverseName(address: string): string {
  return `${reverseLabels(address)}.${ipaddr.process(address).kind() === 'ipv4' ? 'in-addr' : 'ip6'}.arpa`
}
