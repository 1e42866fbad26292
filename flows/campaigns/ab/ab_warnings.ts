import type { AbTest } from '#lib/campaigns/ab_test.ts'
import { ApiError } from '#lib/errors.ts'
import type { Addressed } from '#sql/campaigns/addressed.ts'
import { countRecipients } from '#sql/campaigns/count_recipients.ts'
import type { Queryable } from '#sql/pool.ts'

/** Recipients per variant below which the better one often loses: about 100 opens or clicks at the usual rates. */
const ENOUGH = { open_rate: 1_000, click_rate: 5_000 }

/**
 * Returns warnings about the size of an A/B test.
 *
 * @throws {ApiError} 422 if there are fewer recipients than variants
 */
export async function listAbWarnings(db: Queryable, addressed: Addressed, test: AbTest): Promise<string[]> {
  const { variants, test_percentage, winner_metric } = test
  const enough = ENOUGH[winner_metric]
  const needed = Math.ceil((enough * variants.length * 100) / test_percentage)
  const count = await countRecipients(db, addressed, needed)
  if (count < variants.length) {
    throw new ApiError(
      'validation_error',
      `The A/B test has ${variants.length} variants, and only ${count} contacts would get the campaign.`,
    )
  }
  if (count >= needed) return []
  const each = Math.floor((count * test_percentage) / 100 / variants.length)
  return [
    `Each variant is tried on about ${each} contacts. With fewer than ${enough.toLocaleString('en')}, the winner may be better by chance.`,
  ]
}
