import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'

/** Most events of one run that one call finds. */
const MOST_EVENTS = 1_000

/** Most bytes of payloads that one call reads for all runs. One event is always read. */
const MOST_BYTES = 4 << 20

/** Estimated bytes of a compressed payload (the longest that is accepted), and least bytes of any event. */
const MAX_BYTES = 64 << 10
const MIN_BYTES = 400

/** A run that waits, or is about to wait, for an event. `consumed`: events that it has already waited for. */
export type Waiting = { account_id: string; run_id: string; name: string; is_first: boolean; consumed: string[] }

const Found = z.object({
  run_id: z.string(),
  id: z.string(),
  payload: z.record(z.string(), z.unknown()).nullable(),
  is_last: z.boolean(),
})

/** `payload` is null if the event was found and there was no room to read it. `is_last`: the run has no further events. */
export type FoundRow = z.infer<typeof Found>

/**
 * Reads the events of contacts that their runs have not looked at in this wait, since the start of each run, in the order of
 * ids, which is the order of commits. The runs must be locked: an event that is committed later finds the run waiting and wakes
 * it.
 *
 * Many runs may wait for large events of one contact, so the bytes that are read are limited. Sizes are estimated without
 * reading the payloads. At least the first event is returned for each run that has events.
 */
export async function lookBack(tx: Tx, waiting: Waiting[]): Promise<FoundRow[]> {
  return tx.any(sql.type(Found)`
    SELECT run_id, id, CASE WHEN bytes_before < ${MOST_BYTES} THEN payload END AS payload, is_last
    FROM (
      SELECT run_id, id, payload, position = count(*) OVER run AND position < ${MOST_EVENTS} AS is_last, position,
        sum(bytes) OVER (ORDER BY run_id, id) - bytes AS bytes_before
      FROM (
        SELECT r.id AS run_id, e.id, e.payload, row_number() OVER (PARTITION BY r.id ORDER BY e.id) AS position,
          CASE WHEN pg_column_compression(e.payload) IS NULL THEN greatest(pg_column_size(e.payload), ${MIN_BYTES})
            ELSE ${MAX_BYTES} END AS bytes
        FROM json_to_recordset(${JSON.stringify(waiting)}::json)
          AS w(account_id uuid, run_id uuid, name text, is_first boolean, consumed uuid[])
        JOIN automation_runs r ON r.account_id = w.account_id AND r.id = w.run_id
        CROSS JOIN LATERAL (
          SELECT e.id, e.payload FROM contact_events e
          WHERE e.account_id = r.account_id AND e.contact_id = r.contact_id AND e.name = w.name
            AND e.id > coalesce(CASE WHEN NOT w.is_first THEN r.seen_event END, r.since_event, first_id(r.started_at))
            AND e.id <> ALL (w.consumed)
          ORDER BY e.id LIMIT ${MOST_EVENTS}
        ) e
      ) found
      WINDOW run AS (PARTITION BY run_id)
    ) counted
    WHERE bytes_before < ${MOST_BYTES} OR position = 1
    ORDER BY run_id, id
  `)
}
