import { Threads } from '#lib/async/threads.ts'
import type { Parsed } from './parsed_message.ts'

const LIMITS = { count: 2, deadline_ms: 5_000, heap_mb: 512 }

let threads: Threads<Uint8Array, Parsed> | null = null

/**
 * Parses a message in a thread, so that untrusted content blocks nothing else. Its bytes are moved there and back, not copied:
 * they must be the whole of their buffer and must not be used meanwhile.
 *
 * @throws {EndedThreadError} if it takes too much time or memory; the bytes are lost then
 */
export async function parseMessage(raw: Uint8Array<ArrayBuffer>): Promise<Parsed> {
  threads ??= new Threads(new URL('./parse_thread.ts', import.meta.url), LIMITS)
  return threads.run(raw, [raw.buffer])
}
