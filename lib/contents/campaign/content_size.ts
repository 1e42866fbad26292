import type { Source } from '#lib/contents/compile_content.ts'
import { type ContentKey, listContentKeys } from './recipient_values.ts'

/** The keys and the size of a content that many recipients get. `sizes` are in bytes, without values. */
export type MeasuredContent = { keys: ContentKey[]; sizes: { html: number; text: number } }

/** @throws {ApiError} if there are too many placeholders */
export function measureContent({ html, text }: Source): MeasuredContent {
  return {
    keys: listContentKeys(html, text),
    sizes: { html: Buffer.byteLength(html ?? ''), text: Buffer.byteLength(text ?? '') },
  }
}

/** Maximum bytes of an escaped character, such as `&quot;`. */
const ESCAPED = 6

/** Returns the sizes with values. Each value is counted once in both parts, as if all its characters were escaped. */
export function sizesWith({ keys, sizes }: MeasuredContent, values: Record<string, string>): MeasuredContent['sizes'] {
  const more = keys.reduce(
    (sum, { key }) => sum + ESCAPED * Buffer.byteLength((Object.hasOwn(values, key) && values[key]) || ''),
    0,
  )
  return { html: sizes.html + more, text: sizes.text + more }
}
