import { z } from 'zod'
import { Source } from '#sql/contents/contents.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

const SentMail = z.object({ key: z.string().nullable(), sender: z.string(), subject: z.string(), ...Source.shape })
export type SentMail = z.infer<typeof SentMail>

/**
 * Returns the mail of a campaign as it was sent, before the values of each recipient are inserted: of the variant with this key or,
 * without one, of the newest run. Null before it is sent.
 */
export async function findSentMail(
  db: Queryable,
  { account_id, id }: CampaignId,
  key: string | undefined,
): Promise<SentMail | null> {
  return db.maybeOne(sql.type(SentMail)`
    SELECT v.key, coalesce(v.sender, u.sender, g.sender) AS sender, coalesce(v.subject, u.subject, g.subject) AS subject,
      c.html, c.text
    FROM campaigns g
    LEFT JOIN campaign_variants v ON v.account_id = g.account_id AND v.campaign_id = g.id AND v.key = ${key ?? null}
    LEFT JOIN LATERAL (
      SELECT sender, subject FROM campaign_runs u WHERE u.account_id = g.account_id AND u.campaign_id = g.id
      ORDER BY run DESC LIMIT 1
    ) u ON true
    JOIN contents c ON c.account_id = g.account_id AND c.id = coalesce(v.content_id, g.content_id)
    WHERE g.account_id = ${account_id} AND g.id = ${id}
  `)
}
