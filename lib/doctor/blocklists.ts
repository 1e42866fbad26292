import type { Answer, Dns } from '#lib/net/dns.ts'
import { reverseLabels } from '#lib/net/reverse_name.ts'
import { about, type Finding } from './finding.ts'
import { addressType, fault, type Site } from './site.ts'

type Blocklist = { zone: string; has_ipv6: boolean; page(address: string): string }

const BLOCKLISTS: Blocklist[] = [
  {
    zone: 'zen.spamhaus.org',
    has_ipv6: true,
    page: address => `https://check.spamhaus.org/results/?query=${address}`,
  },
  {
    zone: 'bl.spamcop.net',
    has_ipv6: false,
    page: address => `https://www.spamcop.net/w3m?action=checkblock&ip=${address}`,
  },
  {
    zone: 'b.barracudacentral.org',
    has_ipv6: false,
    page: () => 'https://www.barracudacentral.org/rbl/removal-request',
  },
]

/** Checks whether this host's addresses are on blocklists that receivers use (RFC 5782 section 2). */
export async function checkBlocklists(site: Site): Promise<Finding[]> {
  const { addresses, dns } = site
  if (addresses.length === 0) {
    const fix = 'npm run doctor -- --address THE_ADDRESS_THAT_MAIL_LEAVES_FROM'
    return [about('DNSBL').unknown('No public address of this host is known.', fix)]
  }
  const asked = addresses.flatMap(address =>
    BLOCKLISTS.filter(list => list.has_ipv6 || addressType(address) === 'A').map(list => ask(site, dns, list, address)),
  )
  return Promise.all(asked)
}

async function ask(site: Site, dns: Dns, { zone, page }: Blocklist, address: string): Promise<Finding> {
  const report = about(`DNSBL ${zone}`)
  const answer = await dns.addresses(`${reverseLabels(address)}.${zone}`)
  const { state, detail } = readListing(answer)
  if (state === 'free') return report.ok(`${address} is not on it.`)
  if (state === 'unknown') return report.unknown(`${address}: ${detail}`)
  return fault(site, report)(`${address} is on it (${detail}).`, `Request its removal: ${page(address)}`)
}

/** A listed address has a record in 127.0.0.0/8. Spamhaus responds with 127.255.255.x to name servers that it does not serve. */
function readListing(answer: Answer<string>): { state: 'free' | 'listed' | 'unknown'; detail: string } {
  if (answer.outcome === 'none') return { state: 'free', detail: '' }
  if (answer.outcome === 'failed') return { state: 'unknown', detail: `it could not be queried (${answer.reason}).` }
  const detail = answer.records.join(', ')
  const refused = 'it does not serve this name server'
  if (answer.records.some(record => record.startsWith('127.255.255.'))) {
    return {
      state: 'unknown',
      detail: `${refused} (${detail}); set DNS_SERVERS to your own resolver, not a public one.`,
    }
  }
  if (!answer.records.every(record => record.startsWith('127.'))) {
    return { state: 'unknown', detail: `the name server makes up answers (${detail}).` }
  }
  return { state: 'listed', detail }
}
