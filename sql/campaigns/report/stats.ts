import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'
import { newestRun } from './newest_run.ts'

const Counted = z.object({ name: z.string(), count: z.int() })

/** The figures of the newest run of a campaign by the names that they are counted by (sql/_types.sql, campaign_move); what was never counted is missing. */
export async function readFigures(db: Queryable, campaign: CampaignId): Promise<Record<string, number>> {
  const rows = await db.any(sql.type(Counted)`
    SELECT name, sum(count)::bigint AS count FROM campaign_counts
    WHERE account_id = ${campaign.account_id} AND campaign_id = ${campaign.id} AND run = ${newestRun(campaign)}
    GROUP BY name
  `)
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}
