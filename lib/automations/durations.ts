import { z } from 'zod'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SECONDS: Record<string, number> = { second: 1, minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY }

/** In seconds. */
const LONGEST = 365 * DAY
/** In characters. */
const MAX_TEXT = 100

/** A count with its unit. */
const PART = String.raw`(\d{1,9})\s{0,5}(second|minute|hour|day|week)s?`
const WHOLE = new RegExp(String.raw`^${PART}(?:(?:\s{0,5},)?\s{1,5}(?:and\s{1,5})?${PART})*$`, 'i')

/**
 * Parses a duration such as `3 days` or `1 day 12 hours`: whole numbers of seconds, minutes, hours, days or weeks, which are
 * added up. A day has 24 hours.
 *
 * @returns seconds, or null if the text is not a duration
 */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim()
  if (trimmed.length > MAX_TEXT || !WHOLE.test(trimmed)) return null
  const parts = trimmed.toLowerCase().matchAll(new RegExp(PART, 'gi'))
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * (SECONDS[unit as string] as number), 0)
}

/** A duration of more than zero and at most a year. The parsed value is the text as it was given. */
export const Duration = z.string().superRefine((text, context) => {
  const message = messageOf(parseDuration(text))
  if (message) context.addIssue({ code: 'custom', message })
})

function messageOf(seconds: number | null): string | null {
  if (seconds === null) return 'must be a length of time such as `30 minutes` or `1 day 12 hours`'
  if (seconds === 0) return 'must be longer than 0 seconds'
  return seconds > LONGEST ? 'must be at most one year' : null
}
