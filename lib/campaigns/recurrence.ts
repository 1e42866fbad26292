import { Temporal } from 'temporal-polyfill'
import { z } from 'zod'
import { firstLocalTime } from './local_time.ts'

export const Recurrence = z.enum(['daily', 'weekly', 'monthly'])
export type Recurrence = z.infer<typeof Recurrence>

const DAY_MS = 24 * 60 * 60_000

/** The longest that one of a unit takes, so that no run is passed over by an estimate. */
const UNITS = {
  daily: { unit: 'days', ms: DAY_MS },
  weekly: { unit: 'weeks', ms: 7 * DAY_MS },
  monthly: { unit: 'months', ms: 31 * DAY_MS },
} as const

/** How a campaign recurs. `first_run_at` in `timezone` gives the time of day, and the day of the week or of the month. */
export type Rhythm = {
  recurrence: Recurrence
  recurrence_every: number
  timezone: string
  first_run_at: Date
  send_in_local_time: boolean
}

/** A run, by its number in the rhythm: 0 is the first. `begins_at`: when it is this time in the first time zone, with local times. */
export type PlannedRun = { number: number; at: Date; begins_at: Date }

/**
 * Returns the first run after `last` that has not begun at `now`. Each is counted from the first run: at its time of day in the
 * zone, on its day of the month or the last day of a shorter month. A time that a change of clocks leaves out is that much later;
 * of one that comes twice, it is the first.
 */
export function nextRun(rhythm: Rhythm, last: Date, now: Date): PlannedRun {
  const elapsed = Math.max(last.getTime(), now.getTime()) - rhythm.first_run_at.getTime()
  const least = Math.floor(elapsed / (rhythm.recurrence_every * UNITS[rhythm.recurrence].ms)) - 2
  for (let number = Math.max(0, least); ; number++) {
    const run = planRun(rhythm, number)
    if (run.at > last && run.begins_at > now) return run
  }
}

/** Returns how many runs there are between a run and a later one. */
export function countSkipped(rhythm: Rhythm, last: Date, next: PlannedRun): number {
  return next.number - nextRun(rhythm, last, last).number
}

function planRun(rhythm: Rhythm, number: number): PlannedRun {
  const { recurrence, recurrence_every, timezone, first_run_at, send_in_local_time } = rhythm
  const { unit } = UNITS[recurrence]
  const first = Temporal.Instant.fromEpochMilliseconds(first_run_at.getTime()).toZonedDateTimeISO(timezone)
  const wall = first.toPlainDateTime().add({ [unit]: number * recurrence_every }, { overflow: 'constrain' })
  const at = new Date(wall.toZonedDateTime(timezone, { disambiguation: 'compatible' }).epochMilliseconds)
  return { number, at, begins_at: send_in_local_time ? firstLocalTime(at, timezone) : at }
}
