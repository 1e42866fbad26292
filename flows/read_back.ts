import { setTimeout as sleep } from 'node:timers/promises'
import type { NoAnswerError, Pool } from '../sql/pool.ts'
import { endSession } from '../sql/sessions.ts'

/** So long Postgres may be away before its caller is told that nothing is known. */
const PATIENCE_MS = 1_000
const PAUSE_MS = 100

/**
 * Asks what became of a statement whose answer was lost. It may still be at work, and commit after it was looked for, so
 * its backend is ended first. Answers null when that cannot be known for now, since Postgres cannot be asked.
 */
export async function readBack<T>(pool: Pool, lost: NoAnswerError, ask: () => Promise<T>): Promise<T | null> {
  for (const limit = performance.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
    try {
      if (await endSession(pool, lost.session)) return await ask()
    } catch {
      // Away, or about to start again; its caller tells of the answer that was lost.
    }
    if (performance.now() > limit) return null
  }
}
