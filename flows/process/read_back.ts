import { setTimeout as sleep } from 'node:timers/promises'
import { OutageError } from '#lib/errors.ts'
import { type NoAnswerError, NotConnectedError, type Pool } from '#sql/pool.ts'
import { endSession } from '#sql/process/sessions.ts'

/** How long Postgres may be unavailable before the caller is told that the result is unknown. */
const PATIENCE_MS = 1_000
const PAUSE_MS = 100

/** The result of a statement is unknown: its response was lost, and Postgres could not be queried. */
class UnknownOutcomeError extends OutageError {}

/**
 * Finds the result of a statement whose response was lost. The statement may still be running and could commit after
 * the check, so its backend is ended first.
 *
 * @throws {UnknownOutcomeError}
 */
export async function readBack<T>(pool: Pool, lost: NoAnswerError, ask: () => Promise<T>): Promise<T> {
  for (const limit = performance.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
    try {
      if (await endSession(pool, lost.session)) return await ask()
    } catch {
      // Postgres is unavailable or restarting; the error of the lost response is thrown in the end.
    }
    if (performance.now() > limit) throw new UnknownOutcomeError(lost.message, { cause: lost })
  }
}

/** True if every other caller that waits for Postgres would get this error too. */
export function isAway(error: unknown): boolean {
  return error instanceof NotConnectedError || error instanceof UnknownOutcomeError
}
