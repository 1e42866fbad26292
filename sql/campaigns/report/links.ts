import { z } from 'zod'
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

/** Lists those of a run. Those that were clicked most come first. */
export async function listLinks(
  db: Queryable,
  campaign: RunRef,
  limit: number,
  isClicked = false,
): Promise<CampaignLink[]> {
  const least = isClicked ? 1 : 0
  return db.any(sql.type(CampaignLink)`
    SELECT 'campaign_link' AS object, md5(url)::uuid AS id, url, sum(clicks)::bigint AS clicks,
      sum(unique_clicks)::bigint AS unique_clicks
    FROM campaign_links WHERE account_id = ${campaign.account_id} AND campaign_id = ${campaign.id} AND run = ${runOf(campaign)}
    GROUP BY url HAVING sum(clicks) >= ${least}
    ORDER BY sum(clicks) DESC, sum(unique_clicks) DESC, min(variant), min(link) LIMIT ${limit}
  `)
}
