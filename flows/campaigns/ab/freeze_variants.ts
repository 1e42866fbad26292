import type { AbTest } from '#lib/campaigns/ab_test.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import type { Queryable } from '#sql/pool.ts'
import { type FrozenContent, freezeContent } from '../freeze_content.ts'

/** A variant of a campaign with all that its recipients get. `sender`: an address, maybe with a name. */
export type FrozenVariant = { key: string; sender: string; content: FrozenContent }

/** Returns the variants of a campaign's A/B test as they are sent; none without a test. @throws {ApiError} 422 */
export async function freezeVariants(
  db: Queryable,
  account_id: string,
  campaign: Campaign,
  postal_address: string | null,
): Promise<FrozenVariant[]> {
  const frozen: FrozenVariant[] = []
  for (const variant of campaign.ab_test?.variants ?? []) {
    const content = await freezeContent(db, account_id, campaign, postal_address, ownFields(variant))
    frozen.push({ key: variant.key, sender: variant.from ?? campaign.from, content })
  }
  return frozen
}

/** What a variant does not inherit. */
function ownFields({ subject, preview_text, html, text }: AbTest['variants'][number]) {
  const own = Object.entries({ subject, preview_text, html, text }).filter(([, value]) => value !== null)
  return Object.fromEntries(own) as Partial<Record<'subject' | 'preview_text' | 'html' | 'text', string>>
}
