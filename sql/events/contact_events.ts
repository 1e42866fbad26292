import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** An event in the form of sql/events/ingest_events.sql; its contact is given by id or by address. */
export type EventDraft = {
  account_id: string
  domain_id: string | null
  contact_id: string | null
  email: string | null
  name: string
  payload: Record<string, unknown>
  /** End of its id, 16 hexadecimal digits, by which it is found again. */
  tail: string
  is_refused: boolean
  route: string | null
  key: string | null
  fingerprint: string | null
}

const IngestedEvent = z.object({ id: z.string(), contact_id: z.string(), enrolled: z.int() })
export type IngestedEvent = z.infer<typeof IngestedEvent>

const Ingestion = z.object({
  outcome: z.enum(['stored', 'replayed', 'key_conflict', 'concurrent', 'refused', 'no_contact', 'quota', 'busy']),
  answer: IngestedEvent.nullable(),
})
export type Ingestion = z.infer<typeof Ingestion>

/**
 * Stores events in one round trip and, outside a transaction, one commit; returns one outcome per event, in order.
 * Unless `waits_for_locks`, an event does not wait for a transaction that holds runs of its contact: its outcome is `busy`.
 */
export async function ingestEvents(db: Queryable, drafts: EventDraft[], waits_for_locks = true): Promise<Ingestion[]> {
  const positioned = drafts.map((draft, position) => ({ position, ...draft }))
  return db.any(sql.prepared('ingest_events', Ingestion)`
    SELECT outcome, answer FROM ingest_events(${JSON.stringify(positioned)}::json, ${waits_for_locks}) ORDER BY position
  `)
}

const FoundEvent = IngestedEvent.extend({ tail: z.string() })
export type FoundEvent = z.infer<typeof FoundEvent>

/** Finds events of the last minute by `tail`, the end of an id; used after a commit whose response was lost. */
export async function listIngested(db: Queryable, accounts: string[], tails: string[]): Promise<FoundEvent[]> {
  return db.any(sql.type(FoundEvent)`
    SELECT e.id, e.contact_id, e.enrolled, t.tail FROM contact_events e
    CROSS JOIN LATERAL (SELECT right(replace(e.id::text, '-', ''), 16) AS tail) t
    WHERE e.account_id = ANY (${sql.array(accounts, 'uuid')}) AND e.id >= first_id(now() - interval '1 minute')
      AND t.tail = ANY (${sql.array(tails, 'text')})
  `)
}

export const RecentEvent = z
  .object({
    object: z.literal('contact_event'),
    id: z.string(),
    name: z.string().describe('Name of the event.'),
    contact_id: z.string().describe('Id of the contact, which may have been deleted since.'),
    domain_id: z.string().describe('Id of the domain of the contact.'),
    payload: z.record(z.string(), z.unknown()).describe('Values that came with it.'),
    enrolled: z.int().describe('Number of automation runs that it started.'),
    created_at: z.date(),
  })
  .meta({ id: 'ContactEvent' })
export type RecentEvent = z.infer<typeof RecentEvent>

const MAX_RECENT = 100

/** Lists the newest 100 events of a name, newest first. */
export async function listRecentEvents(db: Queryable, account_id: string, name: string): Promise<RecentEvent[]> {
  return db.any(sql.type(RecentEvent)`
    SELECT 'contact_event' AS object, id, name, contact_id, domain_id, payload, enrolled, created_at FROM contact_events
    WHERE account_id = ${account_id} AND name = ${name} ORDER BY id DESC LIMIT ${MAX_RECENT}
  `)
}

/**
 * Deletes at most `limit` events older than 90 days; returns how many. Reads each account from its first id on, since
 * ids rise with time.
 */
export async function deleteExpiredContactEvents(db: Queryable, limit: number): Promise<number> {
  const end = sql.fragment`first_id(now() - interval '90 days')`
  return db.run(sql.unsafe`
    DELETE FROM contact_events WHERE (account_id, id) IN (
      SELECT a.id, e.id FROM accounts a
      CROSS JOIN LATERAL (
        SELECT id FROM contact_events WHERE account_id = a.id AND id < ${end} ORDER BY id LIMIT ${limit}
      ) e
      LIMIT ${limit}
    )
  `)
}

/** Deletes all events of a contact, and its automation runs with the data that they hold. */
export async function forgetEventsOfContact(tx: Tx, account_id: string, contact_id: string): Promise<void> {
  for (const table of [sql.fragment`contact_events`, sql.fragment`automation_runs`]) {
    await tx.run(sql.unsafe`DELETE FROM ${table} WHERE account_id = ${account_id} AND contact_id = ${contact_id}`)
  }
}
