import { buffer } from 'node:stream/consumers'
import { remember, TtlCache } from '#lib/async/ttl_cache.ts'
import { now } from '#lib/clock.ts'
import type { Log } from '#lib/log.ts'
import type { Dns } from '#lib/net/dns.ts'
import { type FetchPolicy, fetchSafely } from '#lib/net/fetch_safely.ts'

/** Loaded on first use: it takes a tenth of a second, and workers that relay or capture mail never need it. */
const mailauth = () => import('mailauth/lib/mta-sts.js')

/** A stored policy. `mode` none: it has no requirements. */
export type StsPolicy = { policy_id: string; mode: 'enforce' | 'testing' | 'none'; mx: string[]; expires_at: Date }

/** Stores policies beyond the life of the process, so that an attacker who later blocks DNS cannot make us forget them. */
export type StsStore = {
  find(domain: string): Promise<StsPolicy | null>
  save(domain: string, policy: StsPolicy): Promise<void>
}

export type StsOptions = {
  dns: Pick<Dns, 'txt'>
  /** Applies to the hosts from which policies are fetched. */
  fetch: FetchPolicy
  store: StsStore
  log: Log
  /** Port of the policy hosts, for tests. */
  port?: number
  deadline_ms?: number
}

/** RFC 8461 section 3.3 suggests a minute. */
const DEADLINE_MS = 60_000
const MAX_BYTES = 64 * 1024

/** Limits on the text of a policy that is stored, since anybody may have written it. */
const MAX_ID = 64
const MAX_PATTERNS = 100
const MX_PATTERN = /^[*a-z0-9._-]{1,255}$/i
const UNPRINTABLE = /[^\x21-\x7e]/g

/** A policy that expires sooner than this is fetched again, since its id may stay the same for years. */
const REFRESH_MS = 24 * 3600_000

const REMEMBERED = 10_000
const REMEMBERED_MS = 5 * 60_000

/** Shortest time in the cache. A policy that expires at once would be fetched again for each message. */
const SHORTEST_MS = 10_000

/** Returns the policy of a domain, or null if it has none (RFC 8461). */
export type FindStsPolicy = (domain: string) => Promise<StsPolicy | null>

/** Caches policies for some minutes. Rejects only if the store does. */
export function createMtaSts(options: StsOptions): FindStsPolicy {
  const memory = new TtlCache<{ policy: StsPolicy | null }>(REMEMBERED)
  const find = remember(memory, async domain => ({ policy: await findPolicy(domain, options) }), cacheTimeOf)
  return async domain => (await find(domain)).policy
}

/** Tells whether mail may go to a host under this policy. */
export async function allowsHost(policy: StsPolicy, host: string): Promise<boolean> {
  const { validateMx } = await mailauth()
  return validateMx(host, { ...policy, id: policy.policy_id }).valid
}

function cacheTimeOf({ policy }: { policy: StsPolicy | null }): number {
  if (!policy) return REMEMBERED_MS
  const rest = policy.expires_at.getTime() - now().getTime()
  return Math.min(Math.max(rest, SHORTEST_MS), REMEMBERED_MS)
}

/**
 * Returns the policy of a domain. A stored policy is valid until it expires, whether or not DNS and the policy host respond (RFC
 * 8461 section 5.1).
 */
async function findPolicy(domain: string, options: StsOptions): Promise<StsPolicy | null> {
  const { store, log } = options
  const kept = await store.find(domain)
  const valid = kept && kept.expires_at > now() ? kept : null
  try {
    const policy_id = await findPolicyId(domain, options)
    if (!policy_id) return valid
    if (policy_id === valid?.policy_id && valid.expires_at.getTime() > now().getTime() + REFRESH_MS) return valid
    const policy = await fetchPolicy(domain, policy_id, options)
    await store
      .save(domain, policy)
      .catch(error => log.error({ err: error, domain }, 'an MTA-STS policy could not be stored'))
    return policy
  } catch (error) {
    log.info({ err: error, domain }, 'an MTA-STS policy could not be fetched')
    return valid
  }
}

async function findPolicyId(domain: string, { dns }: StsOptions): Promise<string> {
  const resolver = async (name: string): Promise<string[][]> => {
    const answer = await dns.txt(name)
    if (answer.outcome === 'found') return answer.records.map(text => [text])
    throw Object.assign(new Error(`no answer for ${name}`), {
      code: answer.outcome === 'none' ? 'ENODATA' : answer.reason,
    })
  }
  const { resolvePolicy } = await mailauth()
  const id = await resolvePolicy(domain, { resolver })
  return id ? id.replace(UNPRINTABLE, '?').slice(0, MAX_ID) : ''
}

/**
 * Fetches a policy without redirects, and only as plain text, since users of a site may be able to publish other files there (RFC
 * 8461 section 3.3).
 */
async function fetchPolicy(domain: string, policy_id: string, options: StsOptions): Promise<StsPolicy> {
  const { fetch, port, deadline_ms = DEADLINE_MS } = options
  const url = `https://mta-sts.${domain}${port ? `:${port}` : ''}/.well-known/mta-sts.txt`
  const answer = await fetchSafely({ url, max_bytes: MAX_BYTES, deadline_ms }, fetch)
  const type = answer.headers['content-type'] ?? ''
  if (answer.status !== 200 || !/^text\/plain\b/i.test(type)) {
    answer.close()
    throw new Error(`it responded with ${answer.status} ${type}`)
  }
  const { parsePolicy } = await mailauth()
  const { mode, mx = [], maxAge = 0 } = parsePolicy(await buffer(answer.body))
  return {
    policy_id,
    mode,
    mx: mx.filter(pattern => MX_PATTERN.test(pattern)).slice(0, MAX_PATTERNS),
    expires_at: new Date(now().getTime() + maxAge * 1000),
  }
}
