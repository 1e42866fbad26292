import type { Tx } from '#sql/pool.ts'
import { type Announcement, announceEvents, type EventKind, listHeard } from '#sql/webhooks/announce.ts'

/** `data`: called only if a webhook listens, inside the transaction. */
export type Happening = Omit<Announcement, 'data'> & { data: () => object | Promise<object> }

/**
 * Announces events to webhooks if and only if this transaction is committed. The order of one call is kept; the order
 * of several calls in one transaction is not. Takes two statements for any number of events, or one if nobody listens.
 * Rows that SQL already has are announced by SQL, without a round trip to Node (sql/webhooks/announce.sql).
 */
export async function announce(tx: Tx, happenings: Happening[]): Promise<void> {
  const kinds = new Map(happenings.map(({ account_id, type }) => [nameOf({ account_id, type }), { account_id, type }]))
  const heard = new Set((await listHeard(tx, [...kinds.values()])).map(nameOf))
  const events: Announcement[] = []
  for (const { account_id, type, data } of happenings) {
    if (heard.has(nameOf({ account_id, type }))) events.push({ account_id, type, data: await data() })
  }
  if (events.length > 0) await announceEvents(tx, events)
}

function nameOf({ account_id, type }: EventKind): string {
  return `${account_id} ${type}`
}
