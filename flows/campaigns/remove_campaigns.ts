import { deleteCampaign } from '#sql/campaigns/campaigns.ts'
import { deleteRecipients, listCampaignsOfDomain } from '#sql/campaigns/leftovers.ts'
import { cancelDeliveries } from '#sql/campaigns/stop/cancel_rest.ts'
import { cancelCampaign } from '#sql/campaigns/stop/change_status.ts'
import { deleteAnswers } from '#sql/polls/asked_polls.ts'
import type { Pool } from '#sql/pool.ts'

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
