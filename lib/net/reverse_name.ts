import ipaddr from 'ipaddr.js'

/** Returns the labels of an address in reverse order: the bytes of IPv4 in decimal, the 32 digits of IPv6 (RFC 3596 2.5). */
export function reverseLabels(address: string): string {
  const ip = ipaddr.process(address)
  const labels =
    ip.kind() === 'ipv4'
      ? ip.toByteArray().map(String)
      : ip.toByteArray().flatMap(byte => [...byte.toString(16).padStart(2, '0')])
  return labels.reverse().join('.')
}

/** Returns the name of an address's PTR record. */
export function reverseName(address: string): string {
  return `${reverseLabels(address)}.${ipaddr.process(address).kind() === 'ipv4' ? 'in-addr' : 'ip6'}.arpa`
}
