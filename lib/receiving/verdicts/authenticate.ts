import { Piscina } from 'piscina'
import { checkOrigin, type MessageToCheck, type Origin } from './check_origin.ts'

/**
 * Largest message that is checked on this thread: with eight signatures it takes 20 ms, and up to 150 ms if its author made it
 * slow on purpose. One of 25 MB takes half a second with one signature, which must not block anything else.
 */
const MAX_HERE = 64 * 1024

/** Includes the wait for a thread. After this time the thread is terminated, with the other checks that it runs. */
const DEADLINE_MS = 20_000

/** Concurrent checks per thread, which mostly wait for DNS. */
const CHECKS_OF_THREAD = 4

let threads: Piscina<MessageToCheck, Origin> | null = null

/** Checks where a message comes from, for a large one in a thread. @throws if that takes too long */
export async function authenticate(message: MessageToCheck, { deadline_ms = DEADLINE_MS } = {}): Promise<Origin> {
  if (message.raw.length <= MAX_HERE) return checkOrigin(message)
  threads ??= new Piscina({
    filename: new URL('./check_thread.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 2,
    idleTimeout: 30_000,
    concurrentTasksPerWorker: CHECKS_OF_THREAD,
  })
  return threads.run(message, { signal: AbortSignal.timeout(deadline_ms) })
}
