import { Temporal } from 'temporal-polyfill'
import { isTimeZone } from '#lib/time_zones.ts'

/** The offset of the zone that reaches each time of day first (Pacific/Kiritimati, Etc/GMT-14). */
const FIRST_OFFSET = '+14:00'

/** Returns the date and time of day of a moment in a zone. */
function wallTime(at: Date, timezone: string): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timezone).toPlainDateTime()
}

/**
 * Returns, by zone, when other zones reach the date and time of day that `timezone` has at `at`. A time that a clock change skips
 * is taken after the gap; one that occurs twice is taken the first time. Unknown zones are left out.
 */
export function localTimes(at: Date, timezone: string, zones: Iterable<string>): Map<string, Date> {
  const wall = wallTime(at, timezone)
  const times = new Map<string, Date>()
  for (const zone of zones) if (isTimeZone(zone)) times.set(zone, timeIn(wall, zone))
  return times
}

/** Returns when the first of all time zones reaches this date and time of day: up to 26 hours earlier. */
export function firstLocalTime(at: Date, timezone: string): Date {
  return timeIn(wallTime(at, timezone), FIRST_OFFSET)
}

/**
 * Returns the inverse of `firstLocalTime`: when a zone reaches the date and time of day that the first of all time zones has at
 * `begins_at`.
 */
export function localTimeFrom(begins_at: Date, timezone: string): Date {
  return timeIn(wallTime(begins_at, FIRST_OFFSET), timezone)
}

function timeIn(wall: Temporal.PlainDateTime, zone: string): Date {
  return new Date(wall.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds)
}
