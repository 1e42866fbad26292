import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#lib/log.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** Retries until it succeeds, however long Postgres is unavailable. Rethrows the error once `signal` is aborted. */
export async function retryUntil<T>(signal: AbortSignal, log: Log, what: string, ask: () => Promise<T>): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted) throw error
      log.error({ err: error }, `${what} wait for the database`)
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
}
