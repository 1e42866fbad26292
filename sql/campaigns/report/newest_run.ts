import { sql } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

/** A value: the newest run of a campaign; null before it was started. */
export function newestRun({ account_id, id }: CampaignId) {
  return sql.fragment`(
    SELECT max(n.run) FROM campaign_runs n WHERE n.account_id = ${account_id} AND n.campaign_id = ${id}
  )`
}
