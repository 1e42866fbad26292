import { Temporal } from 'temporal-polyfill'
import { DAYS } from '#lib/automations/delays.ts'
import { parseDuration } from '#lib/automations/durations.ts'
import type { ConfigOf } from '#lib/automations/steps.ts'
import { StepError } from './step_error.ts'

type Until = NonNullable<ConfigOf<'delay'>['until']>

/**
 * Returns when a delay that begins now ends. A time of day that a clock change skips is taken after the gap; one that occurs
 * twice is taken the first time.
 *
 * @param timezone the zone of the contact
 * @throws {StepError} if the end cannot be computed: such a delay must not end at once
 */
export function endOfDelay({ duration, until }: ConfigOf<'delay'>, now: Date, timezone: string | null): Date {
  if (until) return nextTime(until, now, timezone)
  return new Date(now.getTime() + secondsOf(duration ?? '') * 1_000)
}

/** @throws {StepError} */
export function secondsOf(duration: string): number {
  const seconds = parseDuration(duration)
  if (seconds === null) throw new StepError('validation_error', `\`${duration}\` is not a length of time.`)
  return seconds
}

/** Includes the same day of the next week. */
const DAYS_AHEAD = 8

function nextTime({ time, days = [...DAYS], timezone: named }: Until, now: Date, timezone: string | null): Date {
  const timeZone = named === 'contact' ? timezone : named
  if (timeZone === null) {
    throw new StepError('validation_error', 'The contact has no `timezone`, which the delay needs.')
  }
  const today = plainDateIn(now, timeZone)
  for (let ahead = 0; ahead < DAYS_AHEAD; ahead++) {
    const day = today.add({ days: ahead })
    if (!days.includes(DAYS[day.dayOfWeek % DAYS.length] as (typeof DAYS)[number])) continue
    const at = day.toZonedDateTime({ timeZone, plainTime: Temporal.PlainTime.from(time) }).epochMilliseconds
    if (at > now.getTime()) return new Date(at)
  }
  throw new StepError('validation_error', 'The delay has no day on which it could end.')
}

function plainDateIn(now: Date, timeZone: string): Temporal.PlainDate {
  try {
    return Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()
  } catch {
    const named = JSON.stringify(timeZone.slice(0, 100))
    throw new StepError('validation_error', `The delay cannot be computed: ${named} is not a time zone.`)
  }
}
