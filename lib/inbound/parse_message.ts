import { Piscina } from 'piscina'
import type { ParsedMessage } from './parsed_message.ts'

/** A message that takes longer, or more memory, is not read at all. */
const DEADLINE_MS = 5_000
const MAX_HEAP_MB = 512

let threads: Piscina<Uint8Array, ParsedMessage> | null = null

/** Reads a message in a thread of its own: what a stranger wrote can hold up nothing else. @throws when it cannot be read */
export async function parseMessage(raw: Uint8Array): Promise<ParsedMessage> {
  threads ??= new Piscina({
    filename: new URL('parse_thread.ts', import.meta.url).href,
    maxThreads: 2,
    idleTimeout: 1_000,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  return threads.run(raw, { signal: AbortSignal.timeout(DEADLINE_MS) })
}
