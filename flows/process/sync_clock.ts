import { setClock } from '#lib/clock.ts'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { readClock } from '#sql/process/clock.ts'

/**
 * In between, the machine's steady clock counts on, whatever happens to its time of day. It stands still while the machine
 * sleeps: afterwards nothing is accepted for so long at most (sql/sending/drafts.sql).
 */
const INTERVAL_MS = 10_000

/** The quickest answer counts: the clock is wrong by half of what it took at the most. */
const QUESTIONS = 3

/** What took longer says less than what is known already. */
const MAX_ROUND_TRIP_MS = 1_000

/** Sets this process's clock (lib/clock.ts) by the database's, however long an answer takes unless told otherwise. */
export async function readDatabaseTime(pool: Pool, max_round_trip_ms = Number.POSITIVE_INFINITY): Promise<void> {
  let quickest = max_round_trip_ms
  // Within a transaction there is a connection already, so that only the statements are timed.
  await pool.transaction(async tx => {
    for (let n = 0; n < QUESTIONS; n++) {
      const asked_at = performance.now()
      const time = await readClock(tx)
      const answered_at = performance.now()
      if (answered_at - asked_at > quickest) continue
      quickest = answered_at - asked_at
      setClock(time, (asked_at + answered_at) / 2)
    }
  })
}

/** Sets it again now and then until it is stopped. */
export function startClockSync(pool: Pool, log: Log): { stop(): void } {
  const timer = setInterval(() => {
    readDatabaseTime(pool, MAX_ROUND_TRIP_MS).catch(error =>
      log.warn({ err: error }, 'the clock of the database was not read'),
    )
  }, INTERVAL_MS)
  return { stop: () => clearInterval(timer) }
}
