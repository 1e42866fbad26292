import { spf } from 'mailauth/lib/spf/index.js'
import { isSpfPolicy } from '#lib/domains/check_policy_record.ts'
import type { Dns } from '#lib/net/dns.ts'
import { createLookUp } from '#lib/receiving/verdicts/look_up.ts'

/** Of RFC 7208 section 2.6. `record`: the policy, when there is exactly one. */
export type SpfResult = { result: string; comment: string; record: string | null }

/** RFC 7208 section 4.6.4 lets 10 terms ask, each MX for 10 addresses more. */
const LIMITS = { deadline_ms: 8_000, lookups: 120 }

/** What SPF says of mail from a domain that comes from an address. */
export async function evaluateSpf(dns: Dns, domain: string, address: string): Promise<SpfResult> {
  const { status } = await spf({
    sender: `postmaster@${domain}`,
    ip: address,
    helo: domain,
    mta: domain,
    strict: true,
    resolver: createLookUp(withoutPtr(dns), LIMITS),
  })
  const texts = await dns.txt(domain)
  const policies = texts.outcome === 'found' ? texts.records.filter(isSpfPolicy) : []
  const [record = null] = policies.length === 1 ? policies : []
  return { result: String(status?.result), comment: String(status?.comment || ''), record }
}

/** What only `ptr` allows is not counted on: it is not to be used (RFC 7208 section 5.5). */
function withoutPtr(dns: Dns): Dns {
  return { ...dns, ptr: async () => ({ outcome: 'none', exists: true }) }
}
