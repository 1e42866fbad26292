import { now } from '#lib/clock.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE

/** Seconds to wait after each failure: seven attempts in total. */
export const RETRY_SECONDS: readonly number[] = [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR]
const LONGEST_PATIENCE = 10 * HOUR
const SPREAD = 0.2

/**
 * Returns the seconds to wait after an attempt (from 1), ±20 %, so that attempts that failed together are not retried together,
 * and at least as long as the endpoint asked for. Null after the last attempt.
 */
export function retryWebhook(
  attempt: number,
  asked = 0,
  schedule: readonly number[] = RETRY_SECONDS,
  random: () => number = Math.random,
): number | null {
  const delay = schedule[attempt - 1]
  return delay === undefined ? null : Math.max(delay * (1 - SPREAD + 2 * SPREAD * random()), asked)
}

/**
 * Returns the seconds that a `Retry-After` field asks us to wait (RFC 9110 10.2.3), at most ten hours; 0 without a valid one.
 */
export function parseRetryAfter(field: string | undefined): number {
  if (field === undefined) return 0
  const seconds = /^\d+$/.test(field) ? Number(field) : (Date.parse(field) - now().getTime()) / 1_000
  return seconds > 0 ? Math.min(seconds, LONGEST_PATIENCE) : 0
}
