import { announceCampaigns } from '#sql/campaigns/announce_campaigns.ts'
import { endRun } from '#sql/campaigns/sending/finish.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'

/** Nothing of it is left to send. */
export async function finishRun(tx: Tx, run: Run): Promise<null> {
  await endRun(tx, run, 'sent')
  await announceCampaigns(tx, 'campaign.sent', [{ account_id: run.account_id, id: run.campaign_id }])
  return null
}

/** It cannot go on, for a reason that does not pass. The next step clears away what is left of it. */
export async function failRun(tx: Tx, run: Run, error: string): Promise<{ in_seconds: number }> {
  await endRun(tx, run, 'failed', error)
  return { in_seconds: 0 }
}
