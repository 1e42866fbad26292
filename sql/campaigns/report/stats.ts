import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'
import { newestRun } from './newest_run.ts'

/** Figures as they are counted (sql/_types.sql, campaign_move). */
export const FIGURES = [
  ...['recipients', 'excluded', 'canceled', 'sent', 'delivered', 'delayed', 'bounced', 'complained', 'failed'],
  ...['suppressed', 'in_doubt', 'opened', 'unique_opened', 'mpp_opened', 'machine_opened', 'clicked', 'unique_clicked'],
  ...['machine_clicked', 'replied', 'unsubscribed'],
] as const

const Counted = z.object({ name: z.string(), count: z.int() })

/** The figures of the newest run of a campaign by their names; what was never counted is missing. */
export async function readFigures(db: Queryable, campaign: CampaignId): Promise<Record<string, number>> {
  const rows = await db.any(sql.type(Counted)`
    SELECT name, sum(count)::bigint AS count FROM campaign_counts
    WHERE account_id = ${campaign.account_id} AND campaign_id = ${campaign.id} AND run = ${newestRun(campaign)}
    GROUP BY name
  `)
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}
