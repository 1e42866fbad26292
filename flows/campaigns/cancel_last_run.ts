import type { CampaignId } from '#sql/campaigns/campaigns.ts'
import { cancelDeliveries, lockUnsettled } from '#sql/campaigns/stop/cancel_rest.ts'
import type { Tx } from '#sql/pool.ts'

/** Emails that are canceled per commit. */
const EMAILS = 500

/**
 * Cancels what the last run of a locked campaign still tries to send. Returns false if more may be left, after the commit. Otherwise
 * the transaction may end the campaign: results of what is being sent wait for it, and then cancel a retry themselves.
 */
export async function cancelLastRun(tx: Tx, { account_id, id: campaign_id }: CampaignId): Promise<boolean> {
  const campaign = { account_id, campaign_id }
  if ((await cancelDeliveries(tx, campaign, EMAILS)) > 0) return false
  await lockUnsettled(tx, campaign)
  return (await cancelDeliveries(tx, campaign, EMAILS)) === 0
}
