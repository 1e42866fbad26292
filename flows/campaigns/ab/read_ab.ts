import { z } from 'zod'
import { WinnerMetric } from '#lib/campaigns/ab_test.ts'
import { isSignificant } from '#lib/campaigns/choose_winner.ts'
import { orNotFound } from '#lib/errors.ts'
import { rateOf } from '#lib/sending/metrics/rates.ts'
import { type Decision, findDecision } from '#sql/campaigns/ab/decision.ts'
import { listVariants, readVariantFigures } from '#sql/campaigns/ab/variants.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { type CampaignId, findCampaign } from '#sql/campaigns/campaigns.ts'
import type { Queryable } from '#sql/pool.ts'
import { judgeVariants, requireTest } from './decide_winner.ts'

const AbStatus = z.enum(['pending', 'testing', 'decided', 'canceled', 'ended'])

const Variant = z
  .object({
    key: z.string().describe('Name of the variant.'),
    subject: z.string().nullable().describe('Its subject.'),
    sent: z.int().describe('A mail server accepted it.'),
    delivered: z.int().describe('Accepted, and no bounce came after that.'),
    unique_opened: z.int().describe('Recipients who opened it.'),
    unique_clicked: z.int().describe('Recipients who clicked a link.'),
    open_rate: z.number().describe('`unique_opened` of `delivered`: a fraction with 4 decimals.'),
    click_rate: z.number().describe('`unique_clicked` of `delivered`: a fraction with 4 decimals.'),
  })
  .meta({ id: 'AbVariantFigures' })

/**
 * The A/B test of a campaign. Once there is a winner, its figures include the rest of the recipients.
 */
export const CampaignAb = z
  .object({
    object: z.literal('campaign_ab'),
    campaign_id: z.string().describe('Id of the campaign.'),
    status: AbStatus.describe(
      '`pending`: not sent yet. `testing`: there is no winner yet. `ended`: all recipients were in the test, so there is none.',
    ),
    winner_metric: WinnerMetric.describe('The rate by which the winner is chosen.'),
    test_percentage: z.int().describe('Percentage of the recipients that get the test.'),
    wait_hours: z.int().describe('Hours from the last email of the test until the winner is chosen.'),
    decide_at: z
      .date()
      .nullable()
      .describe('When the winner is chosen; null: the test is still being sent, or is canceled.'),
    winner: z.string().nullable().describe('Key of the winner.'),
    decided_at: z.date().nullable().describe('When it was chosen.'),
    decided_by: z.enum(['automatic', 'manual']).nullable().describe('`manual`: by a request.'),
    confidence: z
      .number()
      .describe(
        'Confidence, from 0 to 1, that the leading variant (or the winner, when it was chosen) is better than the next one.',
      ),
    significant: z.boolean().describe('True if `confidence` is at least 0.95. Otherwise the winner is a guess.'),
    variants: z.array(Variant).describe('The variants in their order.'),
  })
  .meta({ id: 'CampaignAb' })
export type CampaignAb = z.infer<typeof CampaignAb>

/** @throws {ApiError} 404; 422 if the campaign has no A/B test */
export async function readAb(db: Queryable, campaign: CampaignId): Promise<CampaignAb> {
  const found = orNotFound('Campaign', await findCampaign(db, campaign))
  const { winner_metric, test_percentage, wait_hours, variants: planned } = requireTest(found)
  const decision = await findDecision(db, campaign)
  const sent = await listVariants(db, campaign)
  const counted = await readVariantFigures(db, campaign)
  const ahead = sent.length > 0 ? judgeVariants(sent, counted, winner_metric).confidence : 0
  const status = statusOf(found, decision)
  const confidence = decision?.decided_confidence ?? ahead
  return {
    object: 'campaign_ab',
    campaign_id: campaign.id,
    ...{ status, winner_metric, test_percentage, wait_hours },
    decide_at: status === 'canceled' ? null : (decision?.decide_at ?? null),
    winner: sent.find(({ variant }) => variant === decision?.decided_variant)?.key ?? null,
    decided_at: decision?.decided_at ?? null,
    decided_by: decision?.decided_by ?? null,
    confidence: Math.round(confidence * 10_000) / 10_000,
    significant: isSignificant(confidence),
    variants: planned.map(({ key, subject }, n) => {
      const { sent: taken = 0, delivered = 0, unique_opened = 0, unique_clicked = 0 } = counted.get(n + 1) ?? {}
      return {
        ...{ key, subject: sent[n]?.subject ?? subject ?? found.subject },
        ...{ sent: taken, delivered, unique_opened, unique_clicked },
        ...{ open_rate: rateOf(unique_opened, delivered), click_rate: rateOf(unique_clicked, delivered) },
      }
    }),
  }
}

function statusOf({ status }: Campaign, decision: Decision | null): CampaignAb['status'] {
  if (!decision) return 'pending'
  if (decision.decided_variant !== null) return 'decided'
  if (decision.is_finished && (decision.outcome ?? status) === 'sent') return 'ended'
  return status === 'canceled' || status === 'failed' ? 'canceled' : 'testing'
}
