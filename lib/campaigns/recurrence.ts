import { Temporal } from 'temporal-polyfill'
import { z } from 'zod'
import { firstLocalTime } from './local_time.ts'

export const Recurrence = z.enum(['daily', 'weekly', 'monthly'])
export type Recurrence = z.infer<typeof Recurrence>

const DAY_MS = 24 * 60 * 60_000

/** The longest duration of each unit, so that the estimate in `nextRun` never skips a run. */
export const UNITS = {
  daily: { unit: 'days', ms: DAY_MS },
  weekly: { unit: 'weeks', ms: 7 * DAY_MS },
  monthly: { unit: 'months', ms: 31 * DAY_MS },
} as const

/** How a campaign recurs. `first_run_at` in `timezone` defines the time of day and the day of the week or of the month. */
export type Rhythm = {
  recurrence: Recurrence
  recurrence_every: number
  timezone: string
  first_run_at: Date
  send_in_local_time: boolean
}

/**
 * A run, by its number: 0 is the first. With local times, `begins_at` is when the first of all time zones reaches the time of the
 * run.
 */
export type PlannedRun = { number: number; at: Date; begins_at: Date }

/**
 * Returns the first run after `last` that has not begun at `now`. All runs are computed from the first one: at its time of day in
 * the zone, and on its day of the month, or the last day of a shorter month. A time that a clock change skips is taken after the
 * gap; one that occurs twice is taken the first time.
 */
export function nextRun(rhythm: Rhythm, last: Date, now: Date): PlannedRun {
  const elapsed = Math.max(last.getTime(), now.getTime()) - rhythm.first_run_at.getTime()
  const least = Math.floor(elapsed / (rhythm.recurrence_every * UNITS[rhythm.recurrence].ms)) - 2
  for (let number = Math.max(0, least); ; number++) {
    const run = planRun(rhythm, number)
    if (run.at > last && run.begins_at > now) return run
  }
}

/** Returns the number of runs between a run and a later one. */
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
