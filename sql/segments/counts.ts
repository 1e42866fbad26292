import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { PLAN_HINTS, type PlanHint } from './plan_hints.ts'
import { SegmentCriteria } from './segment_records.ts'
import { criteriaColumns } from './segments.ts'

const Due = SegmentCriteria.extend({ domain_id: z.string(), updated_at_text: z.string() })
export type DueCount = z.infer<typeof Due>

/**
 * Returns a segment whose count is older than `max_age` seconds; null if it is younger, or if the segment does not
 * exist.
 */
export async function findDueCount(
  db: Queryable,
  account_id: string,
  id: string,
  max_age: number,
): Promise<DueCount | null> {
  return db.maybeOne(sql.type(Due)`
    SELECT ${criteriaColumns}, s.domain_id, s.updated_at::text AS updated_at_text FROM segments s
    WHERE s.account_id = ${account_id} AND s.id = ${id}
      AND (s.counted_at IS NULL OR s.counted_at < now() - make_interval(secs => ${max_age}))
  `)
}

/** Locks the count of a segment; returns false while another transaction counts it. */
export async function lockCount(tx: Tx, id: string): Promise<boolean> {
  const { is_locked } = await tx.one(sql.type(z.object({ is_locked: z.boolean() }))`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${`segment count ${id}`}, 0)) AS is_locked
  `)
  return is_locked
}

const Counted = z.object({ contacts: z.int(), counted_at_text: z.string() })
export type Counted = z.infer<typeof Counted>

type Counting = { account_id: string; domain_id: string; id: string; isFound: (hint: PlanHint) => FragmentSqlToken }

/** Counts the contacts of a segment in one snapshot: those that its conditions match, and the other members by hand. */
export async function countContacts(db: Queryable, { account_id, domain_id, id, isFound }: Counting): Promise<Counted> {
  const isThere = sql.fragment`c.account_id = ${account_id} AND c.domain_id = ${domain_id}`
  return db.one(sql.type(Counted)`
    SELECT (SELECT count(*) FROM contacts c WHERE ${isThere} AND ${isFound(PLAN_HINTS.forMany)}) + (
      SELECT count(*) FROM segment_members m JOIN contacts c ON c.account_id = m.account_id AND c.id = m.contact_id
      WHERE m.account_id = ${account_id} AND m.segment_id = ${id} AND ${isThere} AND (${isFound(PLAN_HINTS.forFew)}) IS NOT TRUE
    ) AS contacts, statement_timestamp()::text AS counted_at_text
  `)
}

/** Returns the number of all contacts of a domain from the maintained counts (sql/contacts/count_contacts.sql). */
export async function countAllContacts(db: Queryable, account_id: string, domain_id: string): Promise<Counted> {
  return db.one(sql.type(Counted)`
    SELECT coalesce(sum(contacts), 0)::bigint AS contacts, statement_timestamp()::text AS counted_at_text
    FROM audience_counts WHERE account_id = ${account_id} AND audience_id = ${domain_id}
  `)
}

/** Stores a count, unless the segment was changed after its criteria were read. */
export async function updateCount(
  tx: Tx,
  account_id: string,
  { id, updated_at_text }: DueCount,
  { contacts, counted_at_text }: Counted,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE segments SET contacts_count = ${contacts}, counted_at = ${counted_at_text}::timestamptz
    WHERE account_id = ${account_id} AND id = ${id} AND updated_at = ${updated_at_text}::timestamptz
  `)
}
