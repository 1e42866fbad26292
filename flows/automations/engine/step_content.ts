import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type MeasuredContent, measureContent } from '#lib/contents/campaign/content_size.ts'
import { freezeContent } from '#lib/contents/campaign/freeze_content.ts'
import { nameBareKeys } from '#lib/contents/campaign/recipient_values.ts'
import type { Source } from '#lib/contents/compile_content.ts'
import { idAt } from '#lib/ids.ts'
import { mentionsLink } from '#lib/templates/personal_links.ts'

/** The content of a step as its recipients share it. `id`: the same for the same content. */
export type StepContent = MeasuredContent & { id: string; source: Source; has_links: boolean }

type Author = { purpose: 'marketing' | 'transactional'; postal_address: string | null }

/** Characters of contents that a process remembers. */
const CACHE_SIZE = 16 << 20

const contents = new LRUCache<string, StepContent>({
  maxSize: CACHE_SIZE,
  sizeCalculation: ({ source: { html, text } }) => 1 + (html?.length ?? 0) + (text?.length ?? 0),
})

/**
 * Returns a content as it is sent: marketing with a footer to unsubscribe by, unless it has such a link.
 *
 * @throws {ApiError} when there are too many placeholders
 */
export function freezeStepContent(source: Source, { purpose, postal_address }: Author): StepContent {
  const key = hashOf(JSON.stringify([source, purpose, postal_address]))
  const known = contents.get(key)
  if (known) return known
  const isMarketing = purpose === 'marketing'
  const frozen = isMarketing ? freezeContent(source, { preview_text: null, postal_address }) : nameBareKeys(source)
  const has_links = isMarketing || [frozen.html, frozen.text].some(part => part !== null && mentionsLink(part))
  const id = toUuid(createHash('sha256').update(JSON.stringify(frozen)).digest())
  const content = { ...measureContent(frozen), id, source: frozen, has_links }
  contents.set(key, content)
  return content
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/** A UUIDv8 (RFC 9562 5.8). */
function toUuid(hash: Buffer): string {
  const bytes = Buffer.from(hash.subarray(0, 16))
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  return idAt(bytes, 0)
}
