import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'

/** Events that one look reads. */
export const LOOK = 1_000

/** A run that waits, or comes to wait, for an event. `consumed`: events that it has waited for already. */
export type Waiting = { account_id: string; run_id: string; name: string; is_first: boolean; consumed: string[] }

const Found = z.object({ run_id: z.string(), id: z.string(), payload: z.record(z.string(), z.unknown()) })
export type FoundRow = z.infer<typeof Found>

/**
 * Reads the events of contacts that their runs, which are locked, have not looked at in this wait: since each run began, in the
 * order of ids, which is that of their commits. An event that is committed later finds the run waiting, and wakes it.
 */
export async function lookBack(tx: Tx, waiting: Waiting[]): Promise<FoundRow[]> {
  return tx.any(sql.type(Found)`
    SELECT r.id AS run_id, e.id, e.payload
    FROM json_to_recordset(${JSON.stringify(waiting)}::json)
      AS w(account_id uuid, run_id uuid, name text, is_first boolean, consumed uuid[])
    JOIN automation_runs r ON r.account_id = w.account_id AND r.id = w.run_id
    CROSS JOIN LATERAL (
      SELECT e.id, e.payload FROM contact_events e
      WHERE e.account_id = r.account_id AND e.contact_id = r.contact_id AND e.name = w.name
        AND e.id > coalesce(CASE WHEN NOT w.is_first THEN r.seen_event END, r.since_event, first_id(r.started_at))
        AND e.id <> ALL (w.consumed)
      ORDER BY e.id LIMIT ${LOOK}
    ) e
    ORDER BY r.id, e.id
  `)
}
