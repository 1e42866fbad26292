import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { PatientTimer } from '#lib/async/patient_timer.ts'
import { reverseName } from './reverse_name.ts'

/**
 * The answer of DNS for a name. `none`: there is no such record; `exists` is false if the name does not exist either (NXDOMAIN).
 * `failed`: there is no answer now, but there may be one later (SERVFAIL, refused, timeout).
 */
export type Answer<Value> =
  | { outcome: 'found'; records: Value[] }
  | { outcome: 'none'; exists: boolean }
  | { outcome: 'failed'; reason: string }

/** `exchange` is in lower case without a trailing dot; '' for a null MX (RFC 7505). */
export type Mx = { exchange: string; priority: number }

/** Looks up records directly, without /etc/hosts and search domains. Never rejects. */
export type Dns = {
  /** Each text is its joined strings. */
  txt(name: string): Promise<Answer<string>>
  mx(name: string): Promise<Answer<Mx>>
  cname(name: string): Promise<Answer<string>>
  ns(name: string): Promise<Answer<string>>
  /** IPv4 before IPv6. Failed if one of the two look-ups failed and the other found nothing. */
  addresses(name: string): Promise<Answer<string>>
  /** Addresses of one family only. */
  ipv4(name: string): Promise<Answer<string>>
  ipv6(name: string): Promise<Answer<string>>
  /** The names at a reverse name, such as `1.2.0.192.in-addr.arpa`. */
  ptr(name: string): Promise<Answer<string>>
  /** The names of an address (PTR). */
  names(address: string): Promise<Answer<string>>
}

export type DnsTimes = { try_ms: number; tries: number; deadline_ms: number }

const TIMES: DnsTimes = { try_ms: 2_000, tries: 3, deadline_ms: 10_000 }

/**
 * Limits, since a foreign zone may contain anything: further records, and the rest of longer texts, are dropped. Names with a
 * hundred texts exist; a response has at most 64 KB.
 */
const MAX_RECORDS = 1_000
const MAX_TEXT = 4_096

/** Codes of c-ares for an answer without a record, and for an invalid name. */
const NONE: Record<string, { exists: boolean }> = {
  ENOTFOUND: { exists: false },
  EBADNAME: { exists: false },
  ENODATA: { exists: true },
}

/**
 * Creates a DNS client. `servers` are written as `9.9.9.9` or `127.0.0.1:5353`; default: those of the system. It does not use
 * `dns.lookup`, which occupies one of the four threads that the process has for files, zlib and crypto.
 */
export function createDns(servers?: readonly string[], times: DnsTimes = TIMES): Dns {
  const ask = async <Value>(query: (resolver: Resolver) => Promise<Value[]>): Promise<Answer<Value>> => {
    // A resolver per query: it caches nothing, and its deadline cancels no other query.
    const resolver = new Resolver({ timeout: times.try_ms, tries: times.tries })
    if (servers) resolver.setServers(servers)
    const timer = new PatientTimer(times.deadline_ms, () => resolver.cancel())
    try {
      const records = (await query(resolver)).slice(0, MAX_RECORDS)
      return records.length > 0 ? { outcome: 'found', records } : { outcome: 'none', exists: true }
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      const none = NONE[code]
      return none ? { outcome: 'none', ...none } : { outcome: 'failed', reason: code || message }
    } finally {
      timer.clear()
    }
  }

  return {
    txt: name =>
      ask(async resolver => (await resolver.resolveTxt(name)).map(strings => strings.join('').slice(0, MAX_TEXT))),
    mx: name =>
      ask(async resolver => (await resolver.resolveMx(name)).map(mx => ({ ...mx, exchange: plain(mx.exchange) }))),
    cname: name => ask(async resolver => (await resolver.resolveCname(name)).map(plain)),
    ns: name => ask(async resolver => (await resolver.resolveNs(name)).map(plain)),
    // Not resolver.reverse, which uses /etc/hosts.
    names: address =>
      ask(async resolver => (isIP(address) ? (await resolver.resolvePtr(reverseName(address))).map(plain) : [])),
    ptr: name => ask(async resolver => (await resolver.resolvePtr(name)).map(plain)),
    ipv4: name => ask(resolver => resolver.resolve4(name)),
    ipv6: name => ask(resolver => resolver.resolve6(name)),
    addresses: async name => both(await Promise.all([ask(r => r.resolve4(name)), ask(r => r.resolve6(name))])),
  }
}

function both([ipv4, ipv6]: [Answer<string>, Answer<string>]): Answer<string> {
  const records = [ipv4, ipv6].flatMap(answer => (answer.outcome === 'found' ? answer.records : []))
  if (records.length > 0) return { outcome: 'found', records }
  return ipv4.outcome === 'none' ? ipv6 : ipv4
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
