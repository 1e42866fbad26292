import { announce } from '#flows/webhooks/announce.ts'
import { notFound } from '#lib/errors.ts'
import type { EventType } from '#lib/webhooks/event_types.ts'
import type { Tx } from '#sql/pool.ts'
import { findDomainWithRecords } from './find_domain.ts'

type DomainEvent = Extract<EventType, `domain.${string}`>

/** Announces domains with their current records, so it must be called before a domain is deleted. */
export async function announceDomains(
  tx: Tx,
  type: DomainEvent,
  domains: { account_id: string; id: string }[],
  server_domain: string,
): Promise<void> {
  const happenings = domains.map(({ account_id, id }) => ({
    account_id,
    type,
    data: async () => {
      const domain = await findDomainWithRecords(tx, account_id, id, server_domain)
      if (!domain) throw notFound('Domain')
      return domain
    },
  }))
  await announce(tx, happenings)
}
