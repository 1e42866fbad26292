import type { DNSResolver } from 'mailauth'
import { spf } from 'mailauth/lib/spf/index.js'
import type { Answer, Dns } from '../dns.ts'
import { addressType } from './site.ts'

/** Of RFC 7208 section 2.6. `record`: the policy, when there is exactly one. */
export type SpfResult = { result: string; comment: string; record: string | null }

const MAX_MS = 8_000

/** What SPF says of mail from a domain that comes from an address. */
export async function evaluateSpf(dns: Dns, domain: string, address: string): Promise<SpfResult> {
  const { status } = await spf({
    sender: `postmaster@${domain}`,
    ip: address,
    helo: domain,
    mta: domain,
    strict: true,
    maxElapsedTime: MAX_MS,
    resolver: createResolver(dns),
  })
  const texts = await dns.txt(domain)
  const policies = texts.outcome === 'found' ? texts.records.filter(text => /^v=spf1(?: |$)/i.test(text)) : []
  const [record = null] = policies.length === 1 ? policies : []
  return { result: String(status?.result), comment: String(status?.comment || ''), record }
}

/** As dns.promises.resolve, which throws what it did not find. Its type does not know of MX records, which it answers. */
function createResolver(dns: Dns): DNSResolver {
  const resolve = async (name: string, type: string) => {
    switch (type) {
      case 'TXT':
        return found(await dns.txt(name)).map(text => [text])
      case 'MX':
        return found(await dns.mx(name))
      case 'PTR':
        throw Object.assign(new Error('PTR is not asked'), { code: 'ENODATA' }) // RFC 7208 5.5: not to be used
      default:
        return ofType(found(await dns.addresses(name)), type)
    }
  }
  return resolve as DNSResolver
}

function found<Value>(answer: Answer<Value>): Value[] {
  if (answer.outcome === 'found') return answer.records
  const code = answer.outcome === 'failed' ? 'ETIMEOUT' : answer.exists ? 'ENODATA' : 'ENOTFOUND'
  throw Object.assign(new Error(answer.outcome === 'failed' ? answer.reason : code), { code })
}

function ofType(addresses: string[], type: string): string[] {
  const those = addresses.filter(address => addressType(address) === type)
  if (those.length === 0) throw Object.assign(new Error('ENODATA'), { code: 'ENODATA' })
  return those
}
