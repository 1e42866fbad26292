import { buffer } from 'node:stream/consumers'
import { Memory, remember } from '#lib/async/ttl_cache.ts'
import { now } from '#lib/clock.ts'
import type { Log } from '#lib/log.ts'
import type { Dns } from '#lib/net/dns.ts'
import { type FetchPolicy, fetchSafely } from '#lib/net/fetch_safely.ts'

/** Loaded when first needed: it takes a tenth of a second, and what relays or captures mail needs it never. */
const mailauth = () => import('mailauth/lib/mta-sts.js')

/** A policy as it is kept. `mode` none: it asks for nothing. */
export type StsPolicy = { policy_id: string; mode: 'enforce' | 'testing' | 'none'; mx: string[]; expires_at: Date }

/** Where policies outlive the process: who suppresses answers of DNS later on cannot make us forget them. */
export type StsStore = {
  find(domain: string): Promise<StsPolicy | null>
  save(domain: string, policy: StsPolicy): Promise<void>
}

export type StsOptions = {
  dns: Pick<Dns, 'txt'>
  /** Of the hosts that policies are fetched from. */
  fetch: FetchPolicy
  store: StsStore
  log: Log
  /** Of policy hosts, for tests. */
  port?: number
  deadline_ms?: number
}

/** RFC 8461 section 3.3 suggests a minute. */
const DEADLINE_MS = 60_000
const MAX_BYTES = 64 * 1024

/** What is stored of what a stranger wrote. */
const MAX_ID = 64
const MAX_PATTERNS = 100
const MX_PATTERN = /^[*a-z0-9._-]{1,255}$/i
const UNPRINTABLE = /[^\x21-\x7e]/g

/** A policy that expires sooner is fetched again, as it may be the same for years. */
const REFRESH_MS = 24 * 3600_000

const REMEMBERED = 10_000
const REMEMBERED_MS = 5 * 60_000

/** Of one that expires at once, which would be fetched again for each message. */
const SHORTEST_MS = 10_000

/** The policy of a domain, null when it has none (RFC 8461). */
export type FindStsPolicy = (domain: string) => Promise<StsPolicy | null>

/** Remembers policies for some minutes; rejects only when the store does. */
export function createMtaSts(options: StsOptions): FindStsPolicy {
  const memory = new Memory<{ policy: StsPolicy | null }>(REMEMBERED)
  const find = remember(memory, async domain => ({ policy: await findPolicy(domain, options) }), keepFor)
  return async domain => (await find(domain)).policy
}

/** Whether mail under this policy may go to a host. */
export async function allowsHost(policy: StsPolicy, host: string): Promise<boolean> {
  const { validateMx } = await mailauth()
  return validateMx(host, { ...policy, id: policy.policy_id }).valid
}

function keepFor({ policy }: { policy: StsPolicy | null }): number {
  if (!policy) return REMEMBERED_MS
  const rest = policy.expires_at.getTime() - now().getTime()
  return Math.min(Math.max(rest, SHORTEST_MS), REMEMBERED_MS)
}

/** A kept policy counts until it expires, whatever becomes of DNS or of its host (RFC 8461 section 5.1). */
async function findPolicy(domain: string, options: StsOptions): Promise<StsPolicy | null> {
  const { store, log } = options
  const kept = await store.find(domain)
  const valid = kept && kept.expires_at > now() ? kept : null
  try {
    const policy_id = await findPolicyId(domain, options)
    if (!policy_id) return valid
    if (policy_id === valid?.policy_id && valid.expires_at.getTime() > now().getTime() + REFRESH_MS) return valid
    const policy = await fetchPolicy(domain, policy_id, options)
    await store.save(domain, policy).catch(error => log.error({ err: error, domain }, 'a policy is not kept'))
    return policy
  } catch (error) {
    log.info({ err: error, domain }, 'an MTA-STS policy could not be had')
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

/** No redirects, and only as plain text: what users of a site can put there is none (RFC 8461 section 3.3). */
async function fetchPolicy(domain: string, policy_id: string, options: StsOptions): Promise<StsPolicy> {
  const { fetch, port, deadline_ms = DEADLINE_MS } = options
  const url = `https://mta-sts.${domain}${port ? `:${port}` : ''}/.well-known/mta-sts.txt`
  const answer = await fetchSafely({ url, max_bytes: MAX_BYTES, deadline_ms }, fetch)
  const type = answer.headers['content-type'] ?? ''
  if (answer.status !== 200 || !/^text\/plain\b/i.test(type)) {
    answer.close()
    throw new Error(`it answered ${answer.status} ${type}`)
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
