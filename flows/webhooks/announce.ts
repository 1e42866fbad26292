import { findDomainWithRecords } from '#flows/domains/find_domain.ts'
import { notFound } from '#lib/errors.ts'
import type { EventType } from '#lib/webhooks/event_types.ts'
import type { Tx } from '#sql/pool.ts'
import { type Announcement, announceEvents, listHeard } from '#sql/webhooks/announce.ts'

/** `data` is made only when somebody listens, in the transaction. */
export type Happening = Omit<Announcement, 'data'> & { data: () => object | Promise<object> }

/**
 * Tells webhooks of what happens in this transaction: if and only if it is committed. In the order in which it happened;
 * that of several calls in one transaction is not kept.
 */
export async function announce(tx: Tx, happenings: Happening[]): Promise<void> {
  const heard = await listHeard(tx, happenings)
  const events: Announcement[] = []
  for (const [n, { account_id, type, data }] of happenings.entries()) {
    if (heard[n]) events.push({ account_id, type, data: await data() })
  }
  if (events.length > 0) await announceEvents(tx, events)
}

type DomainEvent = Extract<EventType, `domain.${string}`>

/** Each with its record as it is at this moment: one that is to be deleted is told of before. */
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
