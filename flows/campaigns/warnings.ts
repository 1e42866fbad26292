import { listContentWarnings } from '#lib/contents/campaign/check_content.ts'
import { listContentKeys } from '#lib/contents/campaign/recipient_values.ts'
import { findsAll } from '#lib/segments/conditions.ts'
import type { Addressed } from '#sql/campaigns/addressed.ts'
import type { FrozenCampaign } from './freeze_variants.ts'

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
  const warnings = variants.flatMap(({ html, text }) => [
    ...(listContentKeys(html, text).some(({ key }) => key === 'poll') ? [NO_POLL] : []),
    ...listContentWarnings({ html, text }, postal_address),
    ...(html && text === '' ? ['There is no plain-text part, which spam filters expect.'] : []),
  ])
  return [...(isEverybody ? [EVERYBODY] : []), ...new Set(warnings)]
}
