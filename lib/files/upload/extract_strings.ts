import { scheduler } from 'node:timers/promises'
import { type ExtractOptions, type Skeleton, StringExtractor, type StringPart } from './string_extractor.ts'

export { TooLargeError } from './string_extractor.ts'
export type { ExtractOptions, StringPart }

/** Then it is somebody else's turn: of a fast client, the event loop would read megabytes from each socket in one turn. */
const TURN_BYTES = 64 * 1024

/**
 * Takes large strings out of a JSON text as it arrives, so that only its skeleton has to be kept and parsed. Whether the
 * text is JSON is for JSON.parse of the skeleton to say, which fails exactly when it would fail on the text; only what
 * the skeleton no longer shows, inside the strings, is a SyntaxError here. The strings are as in `StringReader`. Of a
 * key that comes twice both strings are extracted, and only the last one is in the parsed skeleton.
 *
 * Waits for `take` before it reads on; what that throws ends it. Throws TooLargeError beyond the limits. A stream that
 * is not read to its end is destroyed, and a request's answer with it: to spare it, give its
 * `iterator({ destroyOnReturn: false })`.
 */
export async function extractStrings(
  text: AsyncIterable<Buffer>,
  options: ExtractOptions,
  take: (part: StringPart) => void | Promise<void>,
): Promise<Skeleton> {
  const extractor = new StringExtractor(options)
  let bytes = 0
  for await (const piece of text) {
    for (const part of extractor.push(piece)) await take(part)
    await options.onLength?.(extractor.length)
    bytes += piece.length
    if (bytes >= TURN_BYTES) {
      bytes = 0
      await scheduler.yield()
    }
  }
  return extractor.end()
}
