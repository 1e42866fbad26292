import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { isMember } from './compile.ts'
import { PLAN_HINTS, type PlanHint } from './plan_hints.ts'

/** A search for the contacts of a segment on its domain. `isFound`: returns a condition on `contacts c`. */
export type Searched = {
  account_id: string
  domain_id: string
  segment_id: string
  isFound: (hint: PlanHint) => FragmentSqlToken
  /** A condition that narrows the segment, such as to an audience. */
  isAlso: FragmentSqlToken
}

/** The direction in which ids are read: from the cursor, exclusive, towards older or newer ones. */
export type Direction = { from: string | null; isAscending: boolean }

const Walked = z.object({ ids: z.array(z.string()), last: z.string().nullable() })

/**
 * Looks at the next contacts of the domain, at most `budget`; returns the ids of those in the segment, and, if they are
 * fewer than `limit` and there are more contacts, the last id that it looked at.
 */
export async function walkContacts(
  db: Queryable,
  { account_id, domain_id, segment_id, isFound, isAlso }: Searched,
  direction: Direction,
  { limit, budget }: { limit: number; budget: number },
): Promise<z.infer<typeof Walked>> {
  const next = sql.fragment`
    FROM contacts w WHERE w.account_id = ${account_id} AND w.domain_id = ${domain_id} AND ${isBeyond('w', direction)}
    ORDER BY w.id ${order(direction)}
  `
  // One statement, so that both parts see the same contacts.
  return db.one(sql.type(Walked)`
    SELECT f.ids, CASE WHEN cardinality(f.ids) < ${limit} THEN (SELECT w.id ${next} OFFSET ${budget - 1} LIMIT 1) END AS last
    FROM (
      SELECT ARRAY(
        SELECT c.id FROM (SELECT w.* ${next} LIMIT ${budget}) c
        WHERE (${isFound(PLAN_HINTS.forFew)} OR ${isMember(segment_id, PLAN_HINTS.forFew)}) AND ${isAlso}
        ORDER BY c.id ${order(direction)} LIMIT ${limit}
      ) AS ids
    ) f
  `)
}

/**
 * Returns the next ids of a segment, using any suitable index. May take seconds; throws SQLSTATE 57014 after
 * `timeout_ms`.
 */
export async function searchContacts(
  tx: Tx,
  { account_id, domain_id, segment_id, isFound, isAlso }: Searched,
  direction: Direction,
  { limit, timeout_ms }: { limit: number; timeout_ms: number },
): Promise<string[]> {
  await tx.run(
    sql.unsafe`SELECT set_config('statement_timeout', ${String(timeout_ms)}, true), set_config('jit', 'off', true)`,
  )
  const isThere = sql.fragment`
    c.account_id = ${account_id} AND c.domain_id = ${domain_id} AND ${isBeyond('c', direction)} AND ${isAlso}
  `
  // Ordered by ids, but by an expression without an index: scanning the index of ids for a few rare contacts would read
  // all of them one by one. Unlike a materialized subquery, this can run in parallel.
  const nearest = sql.fragment`ORDER BY c.id::text COLLATE "C" ${order(direction)} LIMIT ${limit}`
  // Two separate queries, since with OR neither part could use its index.
  const rows = await tx.any(sql.type(z.object({ id: z.string() }))`
    SELECT id FROM (
      (SELECT c.id FROM contacts c WHERE ${isThere} AND ${isFound(PLAN_HINTS.forMany)} ${nearest})
      UNION ALL
      (
        SELECT c.id FROM segment_members m JOIN contacts c ON c.account_id = m.account_id AND c.id = m.contact_id
        WHERE m.account_id = ${account_id} AND m.segment_id = ${segment_id} AND ${isThere}
          AND (${isFound(PLAN_HINTS.forFew)}) IS NOT TRUE ${nearest}
      )
    ) f
    ORDER BY id ${order(direction)} LIMIT ${limit}
  `)
  return rows.map(({ id }) => id)
}

function isBeyond(table: 'c' | 'w', { from, isAscending }: Direction): FragmentSqlToken {
  if (from === null) return sql.fragment`true`
  const id = table === 'c' ? sql.fragment`c.id` : sql.fragment`w.id`
  return isAscending ? sql.fragment`${id} > ${from}` : sql.fragment`${id} < ${from}`
}

function order({ isAscending }: Direction): FragmentSqlToken {
  return isAscending ? sql.fragment`ASC` : sql.fragment`DESC`
}
