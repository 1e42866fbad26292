import { Temporal } from 'temporal-polyfill'
import { isTimeZone } from '#lib/time_zones.ts'

/** The zone in which each time of day comes first (Pacific/Kiritimati; Etc/GMT-14). */
const FIRST_OFFSET = '+14:00'

/** Returns the time of day and the date of a moment in a zone. */
function wallTime(at: Date, timezone: string): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timezone).toPlainDateTime()
}

/**
 * Returns when it is the same time of day and date in other zones as it is at a moment in one, by zone. A time that a change of
 * clocks leaves out is that much later; of one that comes twice, it is the first. Unknown zones are left out.
 */
export function localTimes(at: Date, timezone: string, zones: Iterable<string>): Map<string, Date> {
  const wall = wallTime(at, timezone)
  const times = new Map<string, Date>()
  for (const zone of zones) if (isTimeZone(zone)) times.set(zone, timeIn(wall, zone))
  return times
}

/** Returns when it is this time of day and date in the first of all time zones: up to 26 hours earlier. */
export function firstLocalTime(at: Date, timezone: string): Date {
  return timeIn(wallTime(at, timezone), FIRST_OFFSET)
}

/** Returns when it is the same time of day and date in a zone as it is at a moment in the first of all time zones. */
export function lastMoment(begins_at: Date, timezone: string): Date {
  return timeIn(wallTime(begins_at, FIRST_OFFSET), timezone)
}

function timeIn(wall: Temporal.PlainDateTime, zone: string): Date {
  return new Date(wall.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds)
}
