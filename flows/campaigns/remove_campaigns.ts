import { ApiError, notFound } from '#lib/errors.ts'
import { type CampaignId, deleteCampaign, lockCampaign } from '#sql/campaigns/campaigns.ts'
import { deleteRecipients, listCampaignsOfDomain } from '#sql/campaigns/leftovers.ts'
import { findNewestRun } from '#sql/campaigns/report/runs.ts'
import { cancelDeliveries, lockUnsettled } from '#sql/campaigns/stop/cancel_rest.ts'
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
      const named = { account_id: campaign.account_id, campaign_id: campaign.id }
      await inTransaction(pool, tx => cancelCampaign(tx, campaign))
      while ((await inTransaction(pool, tx => cancelDeliveries(tx, named, SLICE))) > 0);
      while ((await retryConflicts(() => deleteAnswers(pool, named, SLICE))) > 0);
      while ((await retryConflicts(() => deleteRecipients(pool, campaign, SLICE))) > 0);
      await inTransaction(pool, async tx => {
        await lockUnsettled(tx, named)
        await deleteCampaign(tx, campaign)
      })
    }
  }
}

function inTransaction<T>(pool: Pool, run: (tx: Tx) => Promise<T>): Promise<T> {
  return retryConflicts(() => pool.transaction(run))
}

/**
 * Deletes a draft or a scheduled campaign, and cancels what its last run still tries to send. The reports of runs that were sent are
 * kept. @throws {ApiError} 404; 422
 */
export async function removeCampaign(pool: Pool, campaign: CampaignId): Promise<void> {
  while (!(await inTransaction(pool, tx => removePart(tx, campaign))));
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
