import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { accountForKey } from '#sql/contacts/contacts.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { isMember } from './compile.ts'
import { PLAN_HINTS } from './plan_hints.ts'

const Hits = z.object({ hits: z.array(z.boolean()) })

/** Returns for each segment, given the condition compiled from its filter, if a contact is in it. */
export async function isInSegments(
  db: Queryable,
  account_id: string,
  contact_id: string,
  segments: { id: string; isFound: FragmentSqlToken }[],
): Promise<boolean[]> {
  const conditions = segments.map(
    ({ id, isFound }) => sql.fragment`(${isFound} OR ${isMember(id, PLAN_HINTS.forFew)}) IS TRUE`,
  )
  const found = await db.maybeOne(sql.type(Hits)`
    SELECT ARRAY[${sql.join(conditions, sql.fragment`, `)}]::boolean[] AS hits
    FROM contacts c WHERE c.account_id = ${accountForKey(account_id)} AND c.id = ${contact_id}
  `)
  return found?.hits ?? []
}

/** Removes a contact that was added by hand from a segment; returns the number of removed rows (0 or 1). */
export async function removeMember(
  tx: Tx,
  account_id: string,
  segment_id: string,
  contact_id: string,
): Promise<number> {
  return tx.run(sql.unsafe`
    DELETE FROM segment_members
    WHERE account_id = ${account_id} AND segment_id = ${segment_id} AND contact_id = ${contact_id}
  `)
}

/** Locks a segment against deletion until the transaction ends; returns 1, or 0 if it does not exist. */
export async function blockSegmentDeletion(tx: Tx, account_id: string, segment_id: string): Promise<number> {
  return tx.run(sql.unsafe`
    SELECT FROM segments WHERE account_id = ${account_id} AND id = ${segment_id} FOR KEY SHARE
  `)
}
