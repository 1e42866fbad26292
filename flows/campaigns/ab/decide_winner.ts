import type { AbTest, WinnerMetric } from '#lib/campaigns/ab_test.ts'
import { chooseWinner } from '#lib/campaigns/choose_winner.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { decide, findDecision } from '#sql/campaigns/ab/decision.ts'
import {
  type CampaignVariant,
  listVariants,
  readVariantFigures,
  type VariantFiguresByNumber,
} from '#sql/campaigns/ab/variants.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type CampaignId, lockCampaign } from '#sql/campaigns/campaigns.ts'
import { addSendJob } from '#sql/campaigns/sending/runs.ts'
import type { Pool, Tx } from '#sql/pool.ts'

/** Chooses the winner of a test by its figures, unless it has one already. */
export async function decideByFigures(tx: Tx, campaign: CampaignId, metric: WinnerMetric): Promise<void> {
  const variants = await listVariants(tx, campaign)
  const { variant, confidence } = judgeVariants(variants, await readVariantFigures(tx, campaign), metric)
  await decide(tx, campaign, { variant, by: 'automatic', confidence })
}

/** Returns the number of the variant that is ahead, and the confidence that it is better than the next. */
export function judgeVariants(
  variants: CampaignVariant[],
  counted: VariantFiguresByNumber,
  metric: WinnerMetric,
): { variant: number; confidence: number } {
  const figures = variants.map(({ variant }) => {
    const { delivered = 0, unique_opened = 0, unique_clicked = 0 } = counted.get(variant) ?? {}
    return { delivered, unique_opened, unique_clicked }
  })
  const { winner, confidence } = chooseWinner(figures, metric)
  return { variant: (variants[winner] as CampaignVariant).variant, confidence }
}

/**
 * Chooses the winner by hand, unless there is one already.
 *
 * @throws {ApiError} 404; 422 if the campaign has no test, or no such variant, or its test does not wait for a winner or has none
 */
export async function chooseByHand(pool: Pool, campaign: CampaignId, key: string): Promise<void> {
  await pool.transaction(async tx => {
    const found = orNotFound('Campaign', await lockCampaign(tx, campaign))
    const test = requireTest(found)
    if (found.status !== 'testing' && found.status !== 'paused') {
      throw new ApiError(
        'validation_error',
        `The campaign is ${found.status}: its A/B test does not wait for a winner.`,
      )
    }
    if (test.test_percentage === 100) {
      throw new ApiError('validation_error', 'The A/B test has no winner: it is sent to all recipients.')
    }
    const variants = await listVariants(tx, campaign)
    const chosen = variants.find(variant => variant.key === key)
    if (!chosen) {
      const keys = variants.map(variant => `\`${variant.key}\``).join(', ')
      throw new ApiError('validation_error', `\`variant\` must be one of ${keys}.`)
    }
    const ahead = judgeVariants(variants, await readVariantFigures(tx, campaign), test.winner_metric)
    const confidence = ahead.variant === chosen.variant ? ahead.confidence : 0
    if (!(await decide(tx, campaign, { variant: chosen.variant, by: 'manual', confidence }))) {
      const isDecided = (await findDecision(tx, campaign))?.decided_variant != null
      throw new ApiError(
        'validation_error',
        isDecided ? 'The A/B test has a winner already.' : 'The A/B test has ended without a winner.',
      )
    }
    await addSendJob(tx, { account_id: campaign.account_id, campaign_id: campaign.id })
  })
}

/** @throws {ApiError} 422 */
export function requireTest({ ab_test }: Campaign): AbTest {
  if (ab_test) return ab_test
  throw new ApiError('validation_error', 'The campaign has no A/B test.')
}
