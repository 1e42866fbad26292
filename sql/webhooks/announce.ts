import { z } from 'zod'
import type { EventType } from '#lib/webhooks/event_types.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** Something that happened, which webhooks are told: `data` as contract 12.4 has it. */
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

/** In the order in which they happened. What nobody has subscribed to is not kept (sql/webhooks/announce.sql). */
export async function announceEvents(tx: Tx, events: Announcement[]): Promise<void> {
  await tx.run(sql.unsafe`SELECT announce_events(${JSON.stringify(events)}::json)`)
}
