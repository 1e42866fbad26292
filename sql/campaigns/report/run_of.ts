import { sql } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

/** A run of a campaign; the newest if it has no number. */
export type RunRef = CampaignId & { run?: number | undefined }

/** Returns an expression: the number of a run, null for a campaign that was never started. */
export function runOf({ account_id, id, run }: RunRef) {
  if (run !== undefined) return sql.fragment`${run}::integer`
  return sql.fragment`(
    SELECT max(n.run) FROM campaign_runs n WHERE n.account_id = ${account_id} AND n.campaign_id = ${id}
  )`
}
