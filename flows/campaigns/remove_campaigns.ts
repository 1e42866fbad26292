import { ApiError, notFound } from '#lib/errors.ts'
import { type CampaignId, deleteCampaign, lockCampaign } from '#sql/campaigns/campaigns.ts'
import { deleteRecipients, listCampaignsOfDomain } from '#sql/campaigns/leftovers.ts'
import { findNewestRun } from '#sql/campaigns/report/runs.ts'
import { cancelDeliveries } from '#sql/campaigns/stop/cancel_rest.ts'
import { cancelCampaign, hideCampaign } from '#sql/campaigns/stop/change_status.ts'
import { deleteAnswers } from '#sql/polls/asked_polls.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { cancelLastRun } from './cancel_last_run.ts'

/** Rows per statement. */
const SLICE = 1_000
const AT_ONCE = 100

/**
 * Removes the campaigns of a deleted domain and cancels their queued deliveries. Their emails are kept. May run twice.
 */
export async function removeCampaignsOfDomain(pool: Pool, domain: { account_id: string; id: string }): Promise<void> {
  for (;;) {
    const campaigns = await listCampaignsOfDomain(pool, domain, AT_ONCE)
    if (campaigns.length === 0) return
    for (const campaign of campaigns) {
      await pool.transaction(tx => cancelCampaign(tx, campaign))
      const named = { account_id: campaign.account_id, campaign_id: campaign.id }
      while ((await pool.transaction(tx => cancelDeliveries(tx, named, SLICE))) > 0);
      while ((await deleteAnswers(pool, named, SLICE)) === SLICE);
      while ((await deleteRecipients(pool, campaign, SLICE)) === SLICE);
      await pool.transaction(tx => deleteCampaign(tx, campaign))
    }
  }
}

/**
 * Deletes a draft or a scheduled campaign, and cancels what its last run still tries to send. The reports of runs that were sent are
 * kept. @throws {ApiError} 404; 422
 */
export async function removeCampaign(pool: Pool, campaign: CampaignId): Promise<void> {
  while (!(await retryConflicts(() => pool.transaction(tx => removePart(tx, campaign)))));
}

/** Returns true once the campaign is removed. */
async function removePart(tx: Tx, campaign: CampaignId): Promise<boolean> {
  const found = await lockCampaign(tx, campaign)
  if (!found) throw notFound('Campaign')
  if (found.status !== 'draft' && found.status !== 'scheduled') {
    throw new ApiError(
      'validation_error',
      `Only a draft or a scheduled campaign can be deleted; this one is ${found.status}.`,
    )
  }
  const run = await findNewestRun(tx, campaign)
  if (run === null) await deleteCampaign(tx, campaign)
  else if (await cancelLastRun(tx, campaign)) await hideCampaign(tx, campaign)
  else return false
  return true
}
