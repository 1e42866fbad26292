import { listContentWarnings } from '#lib/contents/campaign/check_content.ts'
import type { FrozenCampaign } from './freeze_variants.ts'

/** Lists what recipients or their mail servers may object to. */
export function listWarnings({ variants }: FrozenCampaign, postal_address: string | null): string[] {
  const warnings = variants.flatMap(({ html, text }) => [
    ...listContentWarnings({ html, text }, postal_address),
    ...(html && text === '' ? ['There is no plain-text part, which spam filters expect.'] : []),
  ])
  return [...new Set(warnings)]
}
