import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Groups and templates that a campaign refers to. */
const columns = {
  audience: sql.fragment`audience_id`,
  segment: sql.fragment`segment_id`,
  topic: sql.fragment`topic_id`,
  template: sql.fragment`template_id`,
}
export type CampaignPart = keyof typeof columns

/**
 * Returns the name of a campaign that is scheduled or being sent and refers to a row, or null. Must be called after the
 * row was locked: a campaign that is being started holds a lock on it.
 */
export async function findCampaignUsing(
  db: Queryable,
  account_id: string,
  part: CampaignPart,
  id: string,
): Promise<string | null> {
  const found = await db.maybeOne(sql.type(z.object({ name: z.string() }))`
    SELECT coalesce(nullif(name, ''), id::text) AS name FROM campaigns
    WHERE account_id = ${account_id} AND ${columns[part]} = ${id} AND status IN ('scheduled', 'queued', 'testing', 'paused')
    ORDER BY id LIMIT 1
  `)
  return found?.name ?? null
}

export async function hasCampaigns(db: Queryable, account_id: string, domain_id: string): Promise<boolean> {
  const { found } = await db.one(sql.type(z.object({ found: z.boolean() }))`
    SELECT EXISTS (SELECT FROM campaigns WHERE account_id = ${account_id} AND domain_id = ${domain_id}) AS found
  `)
  return found
}
