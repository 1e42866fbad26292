import { Piscina } from 'piscina'
import { checkOrigin, type MessageToCheck, type Origin } from './check_origin.ts'

/**
 * Here, a message of this length with eight signatures takes 20 ms, and up to 150 when it is made for that. One of 25 MB takes
 * half a second with one signature, which nothing else is to wait for.
 */
const MAX_HERE = 64 * 1024

/** Of what waits for a thread too. Beyond it the thread is given up, with the few that it reads meanwhile. */
const DEADLINE_MS = 20_000

/** Most of the time of a check is spent on waiting for DNS. */
const CHECKS_OF_THREAD = 4

let threads: Piscina<MessageToCheck, Origin> | null = null

/** Checks where a message comes from, a large one in a thread of its own. @throws when that takes too long */
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
