import { PatientTimer } from '#lib/async/patient_timer.ts'
import type { Answer, Dns } from '#lib/net/dns.ts'

/** DNS in the form that mailauth expects: the records, or an error with a code of node:dns. */
export type LookUp = (name: string, type: string) => Promise<string[] | string[][]>

export type LookUpLimits = { deadline_ms: number; lookups: number }

/**
 * Looks up names until its deadline or its number of look-ups is reached, since senders decide what is looked up. Every look-up
 * after that times out.
 */
export function createLookUp(dns: Dns, { deadline_ms, lookups }: LookUpLimits): LookUp {
  const end = performance.now() + deadline_ms
  let left = lookups
  return async (name, type) => {
    const time = end - performance.now()
    if (left-- <= 0 || time <= 0) throw dnsError('ETIMEOUT', name)
    const answer = await within(time, ask(dns, name, type))
    if (answer?.outcome === 'found') return answer.records as string[] | string[][]
    if (answer?.outcome === 'none') throw dnsError(answer.exists ? 'ENODATA' : 'ENOTFOUND', name)
    throw dnsError('ETIMEOUT', name)
  }
}

async function ask(dns: Dns, name: string, type: string): Promise<Answer<unknown>> {
  switch (type) {
    case 'TXT': {
      const answer = await dns.txt(name)
      return answer.outcome === 'found' ? { ...answer, records: answer.records.map(text => [text]) } : answer
    }
    case 'MX':
      return dns.mx(name)
    case 'A':
      return dns.ipv4(name)
    case 'AAAA':
      return dns.ipv6(name)
    case 'PTR':
      return dns.ptr(name)
    case 'CNAME':
      return dns.cname(name)
  }
  throw new TypeError(`look-ups of ${type} records are not supported`)
}

async function within<Value>(ms: number, value: Promise<Value>): Promise<Value | null> {
  const late = Promise.withResolvers<null>()
  const timer = new PatientTimer(ms, () => late.resolve(null))
  return Promise.race([value, late.promise]).finally(() => timer.clear())
}

function dnsError(code: string, name: string): Error {
  return Object.assign(new Error(`${code} ${name}`), { code })
}
