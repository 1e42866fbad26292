import { z } from 'zod'
import type { Page, Position } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { type RunRef, runOf } from './run_of.ts'

/** A URL of a run of a campaign. Links to the same URL are one. */
export const CampaignLink = z
  .object({
    object: z.literal('campaign_link'),
    id: z.string(),
    url: z.string().describe('The URL.'),
    clicks: z.int().describe('Clicks by people.'),
    unique_clicks: z.int().describe('Recipients who clicked it.'),
  })
  .meta({ id: 'CampaignLink' })
export type CampaignLink = z.infer<typeof CampaignLink>

const links = (campaign: RunRef) => sql.fragment`
  SELECT 'campaign_link' AS object, md5(url)::uuid AS id, url, sum(clicks)::bigint AS clicks,
    sum(unique_clicks)::bigint AS unique_clicks,
    row_number() OVER (ORDER BY sum(clicks) DESC, sum(unique_clicks) DESC, min(variant), min(link)) AS place
  FROM campaign_links WHERE account_id = ${campaign.account_id} AND campaign_id = ${campaign.id} AND run = ${runOf(campaign)}
  GROUP BY url`

/** Lists the clicked links of a run, most clicked first. */
export async function listTopLinks(db: Queryable, campaign: RunRef, limit: number): Promise<CampaignLink[]> {
  return db.any(sql.type(CampaignLink)`
    SELECT l.object, l.id, l.url, l.clicks, l.unique_clicks FROM (${links(campaign)}) l
    WHERE l.clicks > 0 ORDER BY l.place LIMIT ${limit}
  `)
}

/** Lists the links of a run, most clicked first. The page is empty if the cursor is not one of them. */
export async function listLinks(
  db: Queryable,
  campaign: RunRef,
  { limit, after, before }: Position,
): Promise<Page<CampaignLink>> {
  const cursor = sql.fragment`(SELECT c.place FROM links c WHERE c.id = ${after ?? before ?? null})`
  const where = after
    ? sql.fragment`l.place > ${cursor}`
    : before
      ? sql.fragment`l.place < ${cursor}`
      : sql.fragment`true`
  const rows = await db.any(sql.type(CampaignLink)`
    WITH links AS MATERIALIZED (${links(campaign)})
    SELECT l.object, l.id, l.url, l.clicks, l.unique_clicks FROM links l
    WHERE ${where} ORDER BY ${before ? sql.fragment`l.place DESC` : sql.fragment`l.place`} LIMIT ${limit + 1}
  `)
  const data = rows.slice(0, limit)
  return { object: 'list', has_more: rows.length > limit, data: before ? data.reverse() : data }
}
