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
