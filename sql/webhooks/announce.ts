import { z } from 'zod'
import type { EventType } from '#lib/webhooks/event_types.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** Something that happened, which webhooks are told: `data` as contract 12.4 has it. */
export type Announcement = { account_id: string; type: EventType; data: object }

const Heard = z.object({ is_heard: z.boolean() })

/** Returns for each, in the same order, whether any webhook has subscribed to it. */
export async function listHeard(
  db: Queryable,
  events: Pick<Announcement, 'account_id' | 'type'>[],
): Promise<boolean[]> {
  const rows = await db.any(sql.type(Heard)`
    SELECT is_heard(e.account_id, e.type)
    FROM ROWS FROM (json_to_recordset(${JSON.stringify(events)}::json) AS (account_id uuid, type text)) WITH ORDINALITY
      AS e(account_id, type, position)
    ORDER BY e.position
  `)
  return rows.map(row => row.is_heard)
}

/** In the order in which they happened. What nobody has subscribed to is not kept (sql/webhooks/announce.sql). */
export async function announceEvents(tx: Tx, events: Announcement[]): Promise<void> {
  await tx.run(sql.unsafe`SELECT announce_events(${JSON.stringify(events)}::json)`)
}
