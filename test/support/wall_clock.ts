/** Times of day in time zones, computed with Intl alone, to compare with the results of Temporal. */

const formats = new Map<string, Intl.DateTimeFormat>()

/** The date and time of day at a moment in a timezone, as if it were UTC: in ms since 1970. */
export function wallOf(at: number, timeZone: string): number {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', era: 'short', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
    formats.set(timeZone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) + (at % 1_000)
}

const DAY_MS = 24 * 60 * 60_000

/**
 * The first moment with this date and time of day in a timezone; if a DST change skips it, as much later. Considers the offsets of
 * two days before and after, since no timezone changes more often.
 */
export function momentOf(wall: number, timeZone: string): number {
  const offsetAt = (at: number) => wallOf(at, timeZone) - at
  const hours = Array.from({ length: 97 }, (_, n) => wall - 2 * DAY_MS + n * (DAY_MS / 24))
  const offsets = [...new Set(hours.map(offsetAt))]
  const moments = offsets.map(offset => wall - offset).filter(at => wallOf(at, timeZone) === wall)
  if (moments.length > 0) return Math.min(...moments)
  return wall - offsetAt(wall - offsetAt(wall) - DAY_MS)
}

/** The same time of day some months later, on the same day or the last day of a shorter month. */
export function addMonths(wall: number, months: number): number {
  const date = new Date(wall)
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1)
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0)).getUTCDate()
  return first + (Math.min(date.getUTCDate(), days) - 1) * DAY_MS + (wall % DAY_MS)
}
