import type { AbTest } from '#lib/campaigns/ab_test.ts'
import { chooseWinner } from '#lib/campaigns/choose_winner.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { decide } from '#sql/campaigns/ab/decision.ts'
import { listVariants, readVariantFigures } from '#sql/campaigns/ab/variants.ts'
import type { Campaign, CampaignStatus } from '#sql/campaigns/campaign_records.ts'
import { type CampaignId, lockCampaign } from '#sql/campaigns/campaigns.ts'
import { addSendJob } from '#sql/campaigns/sending/runs.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'

/** Chooses the winner of a test by its figures, unless there is one. */
export async function decideByFigures(
  tx: Tx,
  campaign: CampaignId,
  test: Pick<AbTest, 'winner_metric'>,
): Promise<void> {
  const { winner, confidence } = await judgeVariants(tx, campaign, test)
  await decide(tx, campaign, { variant: winner, by: 'automatic', confidence })
}

/** The variant that is ahead, and how surely. `winner`: its number, from 1. */
export async function judgeVariants(
  db: Queryable,
  campaign: CampaignId,
  { winner_metric }: Pick<AbTest, 'winner_metric'>,
) {
  const variants = await listVariants(db, campaign)
  const counted = await readVariantFigures(db, campaign)
  const figures = variants.map(({ variant }) => {
    const { delivered = 0, unique_opened = 0, unique_clicked = 0 } = counted.get(variant) ?? {}
    return { delivered, unique_opened, unique_clicked }
  })
  const choice = chooseWinner(figures, winner_metric)
  return { ...choice, winner: choice.winner + 1 }
}

/**
 * Chooses the winner by hand, until there is one; returns the status of the campaign after that.
 *
 * @throws {ApiError} 404; 422 if the campaign has no test, or no such variant, or its test does not wait for a winner
 */
export async function chooseByHand(pool: Pool, campaign: CampaignId, key: string): Promise<CampaignStatus> {
  return pool.transaction(async tx => {
    const found = orNotFound('Campaign', await lockCampaign(tx, campaign))
    const test = requireTest(found)
    if (found.status !== 'testing' && found.status !== 'paused') {
      throw new ApiError(
        'validation_error',
        `The campaign is ${found.status}: its A/B test does not wait for a winner.`,
      )
    }
    const variants = await listVariants(tx, campaign)
    const chosen = variants.find(variant => variant.key === key)
    if (!chosen) {
      const keys = variants.map(variant => `\`${variant.key}\``).join(', ')
      throw new ApiError('validation_error', `\`variant\` must be one of ${keys}.`)
    }
    const { winner, confidence } = await judgeVariants(tx, campaign, test)
    const sure = winner === chosen.variant ? confidence : 0
    if (!(await decide(tx, campaign, { variant: chosen.variant, by: 'manual', confidence: sure }))) {
      throw new ApiError('validation_error', 'The A/B test has a winner already.')
    }
    await addSendJob(tx, { account_id: campaign.account_id, campaign_id: campaign.id })
    return found.status === 'testing' ? 'queued' : found.status
  })
}

/** @throws {ApiError} 422 */
export function requireTest({ ab_test }: Campaign): AbTest {
  if (ab_test) return ab_test
  throw new ApiError('validation_error', 'The campaign has no A/B test.')
}
