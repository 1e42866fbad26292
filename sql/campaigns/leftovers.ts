import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { CampaignId } from './campaigns.ts'

type Domain = { account_id: string; id: string }

const Row = z.object({ account_id: z.string(), id: z.string() })

/** Lists campaigns of a deleted domain. */
export async function listCampaignsOfDomain(
  db: Queryable,
  { account_id, id }: Domain,
  limit: number,
): Promise<CampaignId[]> {
  return db.any(sql.type(Row)`
    SELECT account_id, id FROM campaigns WHERE account_id = ${account_id} AND domain_id = ${id} ORDER BY id LIMIT ${limit}
  `)
}

/** Deletes at most `limit` recipients of a campaign and returns how many, 0 if none are left. */
export async function deleteRecipients(db: Queryable, { account_id, id }: CampaignId, limit: number): Promise<number> {
  return db.run(sql.unsafe`
    -- Joined with all columns of the key: Postgres may believe that there are few, and compare every row with every other.
    WITH slice AS MATERIALIZED (
      SELECT account_id, campaign_id, contact_id, run FROM campaign_recipients
      WHERE account_id = ${account_id} AND campaign_id = ${id} LIMIT ${limit}
    )
    DELETE FROM campaign_recipients r USING slice s
    WHERE r.account_id = s.account_id AND r.campaign_id = s.campaign_id AND r.contact_id = s.contact_id AND r.run = s.run
  `)
}
