const MINUTE = 60
const HOUR = 60 * MINUTE
const DELAYS = [MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR]
const LAST_DELAY = 4 * HOUR
const SPREAD = 0.2

/** Counted from when a delivery was first due. RFC 5321 4.5.4.1 advises 4 to 5 days; three keep a sender informed sooner. */
export const GIVE_UP_AFTER_HOURS = 72

/** Whole seconds to wait after attempt n (from 1) was deferred, +-20 % so that what failed together does not return together. */
export function retryDelay(attempt: number, random: () => number = Math.random): number {
  const delay = DELAYS[attempt - 1] ?? LAST_DELAY
  return Math.round(delay * (1 - SPREAD + 2 * SPREAD * random()))
}
