import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { PLAN_HINTS } from '#sql/segments/plan_hints.ts'
import { type Addressed, isAddressed, leftOut } from './addressed.ts'

/** Reasons why a contact of the audience or the segment of a campaign is left out. */
export const LeftOut = z.enum([
  'unsubscribed',
  'not_subscribed_to_topic',
  'suppressed',
  'reserved_domain',
  'mailed_recently',
  'unengaged',
])
export type LeftOut = z.infer<typeof LeftOut>

const Total = z.object({ reason: LeftOut.nullable(), contacts: z.int() })

/** Counts the contacts who would get a campaign, and those who would not, by reason. */
export async function countByReason(db: Queryable, addressed: Addressed): Promise<z.infer<typeof Total>[]> {
  return db.any(sql.type(Total)`
    SELECT f.reason, count(*) AS contacts
    FROM (
      SELECT ${leftOut(addressed, PLAN_HINTS.forMany)} AS reason FROM contacts c WHERE ${isAddressed(addressed, PLAN_HINTS.forMany)}
    ) f
    GROUP BY f.reason
  `)
}

/** Counts the contacts who would get a campaign, up to `limit`. */
export async function countRecipients(db: Queryable, addressed: Addressed, limit: number): Promise<number> {
  const hint = limit > 1 ? PLAN_HINTS.forMany : PLAN_HINTS.forFew
  const { count } = await db.one(sql.type(z.object({ count: z.int() }))`
    SELECT count(*) AS count FROM (
      SELECT FROM contacts c WHERE ${isAddressed(addressed, hint)} AND ${leftOut(addressed, hint)} IS NULL LIMIT ${limit}
    ) f
  `)
  return count
}
