import { listContentWarnings } from '#lib/contents/campaign/check_content.ts'
import { listContentKeys } from '#lib/contents/campaign/recipient_values.ts'
import { findsAll } from '#lib/segments/conditions.ts'
import type { Addressed } from '#sql/campaigns/addressed.ts'
import type { Campaign } from '#sql/campaigns/campaign_records.ts'
import { findDomain } from '#sql/domains/domains.ts'
import type { Queryable } from '#sql/pool.ts'
import type { FrozenCampaign } from './content/freeze_variants.ts'

const NO_POLL =
  'The content has `{{poll}}`, and the campaign has no `poll`: nothing is inserted, unless contacts have a property `poll`.'

const EVERYBODY =
  'The segment has no conditions, so it contains all contacts of the domain. To mail only those that were added by hand, set `filter.status` ' +
  'of the segment to `members_only`.'

/** Lists points that recipients or their mail servers may object to. */
export function listWarnings(
  { variants }: FrozenCampaign,
  postal_address: string | null,
  { segment, domain_id }: Pick<Addressed, 'segment' | 'domain_id'>,
): string[] {
  // The default segment General, whose id is that of its domain, is meant to have everybody.
  const isEverybody = segment !== null && segment.id !== domain_id && findsAll(segment)
  // Variants may differ in their subject alone, and reading 5 MB of html takes long.
  const distinct = variants.filter(
    ({ html, text }, n) => n === variants.findIndex(one => one.html === html && one.text === text),
  )
  const warnings = distinct.flatMap(({ html, text }) => [
    ...(listContentKeys(html, text).some(({ key }) => key === 'poll') ? [NO_POLL] : []),
    ...listContentWarnings({ html, text }, postal_address),
    ...(html && text === '' ? ['There is no plain-text part, which spam filters expect.'] : []),
  ])
  return [...(isEverybody ? [EVERYBODY] : []), ...new Set(warnings)]
}

const NO_OPENS =
  'Opens are not tracked, so the A/B test cannot compare open rates: set `track_opens`, or `open_tracking` of the domain.'
const NO_CLICKS =
  'Clicks are not tracked, so the A/B test cannot compare click rates: set `track_clicks`, or `click_tracking` of the domain.'
const NO_ENGAGEMENT =
  'Opens and clicks are not tracked, so nobody who gets this campaign counts as engaged for `exclude_unengaged_days`.'

type Tracked = Pick<Campaign, 'domain_id' | 'track_opens' | 'track_clicks' | 'ab_test' | 'exclude_unengaged_days'>

/** Lists what a campaign asks for that depends on opens or clicks which are not tracked. */
export async function listTrackingWarnings(db: Queryable, account_id: string, campaign: Tracked): Promise<string[]> {
  const domain = await findDomain(db, account_id, campaign.domain_id)
  const has_opens = campaign.track_opens ?? domain?.open_tracking
  const has_clicks = campaign.track_clicks ?? domain?.click_tracking
  const metric = campaign.ab_test?.winner_metric
  return [
    ...(metric === 'open_rate' && !has_opens ? [NO_OPENS] : []),
    ...(metric === 'click_rate' && !has_clicks ? [NO_CLICKS] : []),
    ...(campaign.exclude_unengaged_days !== null && !has_opens && !has_clicks ? [NO_ENGAGEMENT] : []),
  ]
}
