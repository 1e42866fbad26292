import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { LOOK } from '#sql/segments/look.ts'
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
      SELECT ${leftOut(addressed, LOOK.atMany)} AS reason FROM contacts c WHERE ${isAddressed(addressed, LOOK.atMany)}
    ) f
    GROUP BY f.reason
  `)
}

/** Counts the contacts who would get a campaign, up to `limit`. */
export async function countRecipients(db: Queryable, addressed: Addressed, limit: number): Promise<number> {
  const how = limit > 1 ? LOOK.atMany : LOOK.atFew
  const { count } = await db.one(sql.type(z.object({ count: z.int() }))`
    SELECT count(*) AS count FROM (
      SELECT FROM contacts c WHERE ${isAddressed(addressed, how)} AND ${leftOut(addressed, how)} IS NULL LIMIT ${limit}
    ) f
  `)
  return count
}
