import { Threads } from '#lib/async/threads.ts'
import type { Parsed } from './parsed_message.ts'

const LIMITS = { count: 2, deadline_ms: 5_000, heap_mb: 512 }

let threads: Threads<Uint8Array, Parsed> | null = null

/**
 * Reads a message in a thread of its own: what a stranger wrote can hold up nothing else. Its bytes are moved there and
 * back, not copied: they must be all of their buffer, and are not to be used meanwhile.
 *
 * @throws {EndedThreadError} when it takes too long or too much; the bytes are lost then
 */
export async function parseMessage(raw: Uint8Array<ArrayBuffer>): Promise<Parsed> {
  threads ??= new Threads(new URL('./parse_thread.ts', import.meta.url), LIMITS)
  return threads.run(raw, [raw.buffer])
}
