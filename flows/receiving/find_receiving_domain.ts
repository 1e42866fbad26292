import { coalesce } from '#lib/async/coalesce.ts'
import { Memory } from '#lib/async/ttl_cache.ts'
import { listReceivingDomains, type ReceivingDomain } from '#sql/domains/mail_domains.ts'
import type { Pool } from '#sql/pool.ts'

/** Domains at most. */
const REMEMBERED = 1_000

/** The domain of this name that mail is received for, or null. */
export type FindReceivingDomain = (name: string) => Promise<ReceivingDomain | null>

/**
 * Who sends much sends to the same domains: what was found holds for `remember_ms`, so long does a domain receive once it
 * has gone. Not what was not found, since a new domain is to receive at once; nor what has a quota, since the recipient
 * after the last one it has room for is to be refused.
 */
export function createFindReceivingDomain(pool: Pool, remember_ms: number): FindReceivingDomain {
  const known = new Memory<ReceivingDomain>(REMEMBERED)
  const find = coalesce<string, ReceivingDomain | null>(
    async names => {
      const domains = await listReceivingDomains(pool, [...new Set(names)])
      return names.map(name => domains.find(domain => domain.name === name) ?? null)
    },
    { in_flight: 2, max_items: 100 },
  )
  return async name => {
    const remembered = known.get(name)
    if (remembered) return remembered
    const domain = await find(name)
    if (domain && domain.room === null) known.set(name, domain, remember_ms)
    return domain
  }
}
