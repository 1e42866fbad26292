import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import { payloadBytes } from './payload_bytes.ts'

/** Maximum number of events of one run that one call finds. */
const MOST_EVENTS = 250

/** Maximum bytes of payloads that one call reads for all runs, and for one run. The first event of one run is always read. */
const MOST_BYTES = 4 << 20
const MOST_BYTES_OF_RUN = 512 << 10

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
 * reading the payloads. The runs of different contacts come first, then the second runs of contacts, and so on, each in the order
 * of `waiting`, so that one contact holds up no other. At least the first event is returned for each run that has events.
 */
export async function lookBack(tx: Tx, waiting: Waiting[]): Promise<FoundRow[]> {
  const turns = waiting.map((run, n) => ({ ...run, n }))
  return tx.any(sql.type(Found)`
    WITH runs AS (
      SELECT r.*, w.n, w.name, w.is_first, w.consumed AS done, row_number() OVER (PARTITION BY r.contact_id ORDER BY w.n) AS turn
      FROM json_to_recordset(${JSON.stringify(turns)}::json)
        AS w(n int, account_id uuid, run_id uuid, name text, is_first boolean, consumed uuid[])
      JOIN automation_runs r ON r.account_id = w.account_id AND r.id = w.run_id
    ), found AS (
      SELECT r.id AS run_id, r.turn, r.n, e.id, e.payload, row_number() OVER (PARTITION BY r.id ORDER BY e.id) AS position,
        ${payloadBytes(sql.fragment`e.payload`)} AS bytes
      FROM runs r
      CROSS JOIN LATERAL (
        SELECT e.id, e.payload FROM contact_events e
        WHERE e.account_id = r.account_id AND e.contact_id = r.contact_id AND e.name = r.name
          AND e.id > coalesce(CASE WHEN NOT r.is_first THEN r.seen_event END, r.since_event, first_id(r.started_at))
          AND e.id <> ALL (r.done)
        ORDER BY e.id LIMIT ${MOST_EVENTS}
      ) e
    ), limited AS (
      SELECT *, position = count(*) OVER run AND position < ${MOST_EVENTS} AS is_last,
        sum(bytes) OVER (run ORDER BY id) - bytes < ${MOST_BYTES_OF_RUN} AS has_room
      FROM found WINDOW run AS (PARTITION BY run_id)
    ), chosen AS (
      SELECT *, has_room AND sum(bytes) FILTER (WHERE has_room) OVER (ORDER BY turn, n, id) - bytes < ${MOST_BYTES} AS is_read
      FROM limited
    )
    SELECT run_id, id, CASE WHEN is_read THEN payload END AS payload, is_last
    FROM chosen WHERE is_read OR position = 1 ORDER BY run_id, id
  `)
}
