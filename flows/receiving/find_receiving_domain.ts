import { coalesce } from '#lib/async/coalesce.ts'
import { TtlCache } from '#lib/async/ttl_cache.ts'
import { SmtpReplyError } from '#lib/receiving/smtp/reply_error.ts'
import { isVerifiedAgain, listReceivingDomains, type ReceivingDomain } from '#sql/domains/mail_domains.ts'
import type { Pool } from '#sql/pool.ts'

/** Maximum number of cached domains. */
const REMEMBERED = 1_000

/** Returns the domain of this name if mail is received for it, else null. */
export type FindReceivingDomain = (name: string) => Promise<ReceivingDomain | null>

/**
 * Senders of much mail send to the same domains, so found domains are cached for `remember_ms`: a deleted domain
 * receives for that much longer. Unknown names are not cached, since a new domain must receive at once; nor are domains
 * with a quota, since the first recipient beyond it must be rejected.
 */
export function createFindReceivingDomain(pool: Pool, remember_ms: number): FindReceivingDomain {
  const known = new TtlCache<ReceivingDomain>(REMEMBERED)
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

/** Returns the refusal of a recipient at no receiving domain. Mail for a domain that may soon receive again is not lost. */
export async function refuseRecipient(pool: Pool, domain: string | undefined): Promise<SmtpReplyError> {
  return domain && (await isVerifiedAgain(pool, domain))
    ? new SmtpReplyError(450, '4.2.1 The domain is being verified, try again later')
    : new SmtpReplyError(550, '5.7.1 No mail is received here for this address')
}
