import { setClock } from '#lib/clock.ts'
import type { Log } from '#lib/log.ts'
import type { Pool } from '#sql/pool.ts'
import { readClock } from '#sql/process/clock.ts'

/**
 * Interval between readings. In between, the machine's monotonic clock is used, so changes of its time of day have no
 * effect. That clock stops while the machine sleeps; after that, nothing is accepted for at most this interval
 * (sql/sending/accept/judge_drafts.sql).
 */
const INTERVAL_MS = 10_000

/** Readings per sync. The quickest one is used: the clock is off by at most half of its round trip. */
const QUESTIONS = 3

/** Slower readings are less exact than the current clock, so they are ignored. */
const MAX_ROUND_TRIP_MS = 1_000

/** Sets the clock of this process (lib/clock.ts) to that of the database. Readings slower than the limit are ignored. */
export async function readDatabaseTime(pool: Pool, max_round_trip_ms = Number.POSITIVE_INFINITY): Promise<void> {
  let quickest = max_round_trip_ms
  // The transaction already has a connection, so only the statements are timed.
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

/** Sets the clock again every INTERVAL_MS until it is stopped. */
export function startClockSync(pool: Pool, log: Log): { stop(): void } {
  const timer = setInterval(() => {
    readDatabaseTime(pool, MAX_ROUND_TRIP_MS).catch(error =>
      log.warn({ err: error }, 'the clock of the database was not read'),
    )
  }, INTERVAL_MS)
  return { stop: () => clearInterval(timer) }
}
