import { parse } from 'chrono-node/en'

/** RFC 3339, in which the time, its seconds or its offset may be missing: midnight, :00, UTC. */
const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/i

/** The basic format of ISO 8601, without separators, as calendars and AWS write it: 20261201T100000Z. */
const BASIC = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{2}:?\d{2})?$/i

const NIGHT = /night\b|\bevening\b/i
const PAST = /\b(?:last|past)\b/i

const LONGEST = 100

const HORIZON_MS = 30 * 24 * 60 * 60_000

/** Clocks differ, so a time this far outside of either end is still accepted. */
const TOLERANCE_MS = 2_000

export type ScheduleFault = 'schedule_past' | 'schedule_too_far'

/** `is_now`: the time has come already. `fault`: why nothing can be sent at that time. */
export type Schedule = { at: Date; is_now: boolean; fault: ScheduleFault | null }

/**
 * Returns the schedule for a text; null if it is not a time. The limits use the same `now` as its phrases, so "in 30 days" is
 * never too far and "now" never past, however long the request takes after that.
 */
export function readSchedule(text: string, now: Date): Schedule | null {
  const at = parseSchedule(text, now)
  if (!at) return null
  const ahead = at.getTime() - now.getTime()
  const fault = ahead < -TOLERANCE_MS ? 'schedule_past' : ahead > HORIZON_MS + TOLERANCE_MS ? 'schedule_too_far' : null
  return { at, is_now: ahead <= 0, fault }
}

/**
 * Parses a time: an ISO 8601 timestamp, or an English phrase such as "in 2 hours" or "tomorrow at 9am", relative to `now` and in
 * UTC, which lib/config.ts makes the zone of the process. An ambiguous phrase means the future. Null if any part of the text is
 * something else.
 */
export function parseSchedule(text: string, now: Date): Date | null {
  const trimmed = separated(text.trim())
  if (trimmed.length > LONGEST) return null
  const [timestamp, day = '', time = '00:00', seconds = ':00', offset = 'Z'] = TIMESTAMP.exec(trimmed) ?? []
  return timestamp ? parseTimestamp(day, `${time}${seconds}${offset.toUpperCase()}`) : parsePhrase(trimmed, now)
}

/** Returns a timestamp of the basic format in the extended one, and any other text unchanged. */
function separated(text: string): string {
  return text.replace(BASIC, (_, year, month, day, hour, minute, second = '00', offset = 'Z') => {
    return `${year}-${month}-${day}T${hour}:${minute}:${second}${offset.replace(/^(...)(\d\d)$/, '$1:$2')}`
  })
}

function parseTimestamp(day: string, time: string): Date | null {
  // A 30th of February would become the 2nd of March.
  const isDay = new Date(`${day}T00:00Z`).toJSON()?.startsWith(day)
  return isDay ? valid(new Date(`${day}T${time}`)) : null
}

function parsePhrase(text: string, now: Date): Date | null {
  const [found, another] = parse(text, { instant: now, timezone: 'UTC' }, { forwardDate: true })
  const isWhole = found?.text.length === text.length && !another && !found.end
  if (!isWhole) return null
  const date = valid(found.date())
  // chrono takes "tonight at midnight" for noon, and "last monday" for the next one.
  const isNoon = NIGHT.test(text) && found.start.get('hour') === 12
  return isNoon || (PAST.test(text) && date && date > now) ? null : date
}

function valid(date: Date): Date | null {
  return Number.isNaN(date.getTime()) ? null : date
}
