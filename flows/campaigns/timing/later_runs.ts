import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '#lib/errors.ts'
import { findDecision } from '#sql/campaigns/ab/decision.ts'
import { listVariants } from '#sql/campaigns/ab/variants.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { CampaignFields, CampaignId } from '#sql/campaigns/campaigns.ts'
import { findNewestRun } from '#sql/campaigns/report/runs.ts'
import type { Tx } from '#sql/pool.ts'

/**
 * Rejects a change of the domain or the A/B test after the first run: figures of earlier runs depend on them. @throws
 * {ApiError} 422
 */
export async function requireUnchanged(
  tx: Tx,
  campaign: CampaignId,
  before: Pick<CampaignFields, 'domain_id' | 'ab_test'>,
  after: Pick<CampaignFields, 'domain_id' | 'ab_test'>,
): Promise<void> {
  const field = before.domain_id !== after.domain_id ? 'from' : 'ab_test'
  if (field === 'ab_test' && isDeepStrictEqual(before.ab_test, after.ab_test)) return
  if ((await findNewestRun(tx, campaign)) === null) return
  const what = field === 'from' ? 'The domain of `from`' : '`ab_test`'
  throw new ApiError(
    'validation_error',
    `${what} cannot be changed after the first run. Duplicate the campaign instead.`,
  )
}

/**
 * Returns a campaign as its next run sends it. The first run has the A/B test; all others send the winner, or the first variant
 * if there is none.
 */
export async function campaignOfNextRun(tx: Tx, account_id: string, campaign: Campaign): Promise<Campaign> {
  const id = { account_id, id: campaign.id }
  if (campaign.ab_test === null || (await findNewestRun(tx, id)) === null) return campaign
  const decided = (await findDecision(tx, id))?.decided_variant ?? null
  const winner = (await listVariants(tx, id)).find(({ variant }) => variant === decided)
  const { ab_test } = campaign
  const place = ab_test.variants.findIndex(({ key }) => key === winner?.key)
  return { ...campaign, ab_test: { ...ab_test, variants: ab_test.variants.slice(Math.max(0, place)).slice(0, 1) } }
}
