import type { Tx } from '#sql/pool.ts'
import { type Announcement, announceEvents, type EventKind, listHeard } from '#sql/webhooks/announce.ts'

/** `data` is made only if somebody listens, in the transaction. */
export type Happening = Omit<Announcement, 'data'> & { data: () => object | Promise<object> }

/**
 * Tells webhooks of what happens in this transaction: if and only if it is committed. In the order in which it happened;
 * that of several calls in one transaction is not kept. Two statements, or one if nobody listens, however much happens.
 * Rows that SQL has are announced by SQL, without a way through Node (sql/webhooks/announce.sql).
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
