import { spf } from 'mailauth/lib/spf/index.js'
import { isSpfPolicy } from '#lib/domains/check_policy_record.ts'
import type { Dns } from '#lib/net/dns.ts'
import { createLookUp } from '#lib/receiving/verdicts/look_up.ts'

/** `result` as in RFC 7208 section 2.6. `record`: the policy, if there is exactly one. */
export type SpfResult = { result: string; comment: string; record: string | null }

/** RFC 7208 section 4.6.4 allows 10 terms that cause look-ups, and 10 more for the addresses of each MX. */
const LIMITS = { deadline_ms: 8_000, lookups: 120 }

/** Evaluates SPF for mail from a domain that is sent from an address. */
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

/** Ignores the `ptr` mechanism, which should not be used (RFC 7208 section 5.5). */
function withoutPtr(dns: Dns): Dns {
  return { ...dns, ptr: async () => ({ outcome: 'none', exists: true }) }
}
