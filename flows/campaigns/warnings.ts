import type { FrozenContent } from './freeze_content.ts'

/** Gmail cuts off longer html, and with it the link to unsubscribe. */
const CLIPPED = 102 * 1024

/** What recipients or their mail servers may object to. */
export function listWarnings({ html, text }: FrozenContent, postal_address: string | null): string[] {
  const size = Buffer.byteLength(html ?? '')
  const warnings = {
    'The sender has no postal address, which many countries require in marketing mail: set `postal_address` of the domain.':
      postal_address === null,
    [`The html has ${Math.ceil(size / 1024)} KB. Gmail cuts off what is longer than 102 KB.`]: size > CLIPPED,
    'The campaign has no plain-text part, which spam filters expect.': Boolean(html) && text === '',
  }
  return Object.entries(warnings).flatMap(([warning, isSo]) => (isSo ? [warning] : []))
}
