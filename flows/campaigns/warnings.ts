import { listContentWarnings } from '#lib/contents/campaign/check_content.ts'
import { listContentKeys } from '#lib/contents/campaign/recipient_values.ts'
import type { FrozenCampaign } from './freeze_variants.ts'

const NO_POLL =
  'The content has `{{poll}}`, and the campaign has no `poll`: nothing is put in, unless contacts have such a property.'

/** Lists what recipients or their mail servers may object to. */
export function listWarnings({ variants }: FrozenCampaign, postal_address: string | null): string[] {
  const warnings = variants.flatMap(({ html, text }) => [
    ...(listContentKeys(html, text).some(({ key }) => key === 'poll') ? [NO_POLL] : []),
    ...listContentWarnings({ html, text }, postal_address),
    ...(html && text === '' ? ['There is no plain-text part, which spam filters expect.'] : []),
  ])
  return [...new Set(warnings)]
}
