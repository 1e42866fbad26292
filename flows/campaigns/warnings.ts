import { listContentWarnings } from '#lib/contents/campaign/check_content.ts'
import type { FrozenContent } from './freeze_content.ts'

/** Lists what recipients or their mail servers may object to. */
export function listWarnings(content: FrozenContent, postal_address: string | null): string[] {
  const isWithoutText = Boolean(content.html) && content.text === ''
  const warnings = listContentWarnings(content, postal_address)
  return isWithoutText ? [...warnings, 'There is no plain-text part, which spam filters expect.'] : warnings
}
