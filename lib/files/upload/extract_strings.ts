import { scheduler } from 'node:timers/promises'
import type { ExtractOptions, Skeleton, StringPart } from './extracted.ts'
import { StringExtractor } from './string_extractor.ts'

export { NotBytesError } from './byte_list_reader.ts'
export { TooLargeError } from './extracted.ts'
export type { ExtractOptions, StringPart }

/** Bytes per turn of the event loop. Without a limit, one turn would read megabytes from each fast client. */
const TURN_BYTES = 64 * 1024

/**
 * Extracts large strings from a JSON text as it arrives, so that only its skeleton has to be stored and parsed. JSON.parse of the
 * skeleton fails exactly when it would fail on the text; errors inside the extracted strings, which the skeleton does not
 * contain, are thrown here as SyntaxError, and lists of anything but bytes as NotBytesError. The strings are decoded as in
 * `StringReader`. If a key occurs twice, both strings are extracted, but only the last one is in the parsed skeleton.
 *
 * Waits for `take` before it reads on; an error of `take` ends it. Throws TooLargeError beyond the limits. A stream that is not
 * read to its end is destroyed, and so is the response to a request; to avoid that, pass the request's `iterator({
 * destroyOnReturn: false })`.
 */
export async function extractStrings(
  text: AsyncIterable<Buffer> | Iterable<Buffer>,
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
