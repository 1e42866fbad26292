import { setTimeout as sleep } from 'node:timers/promises'
import { OutageError } from '#lib/errors.ts'
import { type NoAnswerError, NotConnectedError, type Pool } from '#sql/pool.ts'
import { endSession } from '#sql/process/sessions.ts'

/** So long Postgres may be away before its caller is told that nothing is known. */
const PATIENCE_MS = 1_000
const PAUSE_MS = 100

/** It is not known what became of a statement: neither its answer came nor could Postgres be asked. */
class UnknownOutcomeError extends OutageError {}

/**
 * Asks what became of a statement whose answer was lost. It may still be at work, and commit after it was looked for, so
 * its backend is ended first.
 *
 * @throws {UnknownOutcomeError}
 */
export async function readBack<T>(pool: Pool, lost: NoAnswerError, ask: () => Promise<T>): Promise<T> {
  for (const limit = performance.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
    try {
      if (await endSession(pool, lost.session)) return await ask()
    } catch {
      // Away, or about to start again; its caller tells of the answer that was lost.
    }
    if (performance.now() > limit) throw new UnknownOutcomeError(lost.message, { cause: lost })
  }
}

/** True if every other caller that waits for Postgres would get this error too. */
export function isAway(error: unknown): boolean {
  return error instanceof NotConnectedError || error instanceof UnknownOutcomeError
}
