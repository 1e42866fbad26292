import { z } from 'zod'
import type { EventType } from '#lib/webhooks/event_types.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** An event to announce to webhooks. `data`: as in docs/webhooks.md. */
export type Announcement = { account_id: string; type: EventType; data: object }

const Kind = z.object({ account_id: z.string(), type: z.string() })

/** Events of one type and one account. */
export type EventKind = z.infer<typeof Kind>

/** Returns those to which any webhook has subscribed. */
export async function listHeard(db: Queryable, kinds: EventKind[]): Promise<EventKind[]> {
  return db.any(sql.type(Kind)`
    SELECT account_id, type FROM json_to_recordset(${JSON.stringify(kinds)}::json) AS k(account_id uuid, type text)
    WHERE is_heard(account_id, type)
  `)
}

/**
 * Announces events in the order in which they happened. Events without subscribers are not stored
 * (sql/webhooks/announce.sql).
 */
export async function announceEvents(tx: Tx, events: Announcement[]): Promise<void> {
  await tx.run(sql.unsafe`SELECT announce_events(${JSON.stringify(events)}::json)`)
}
