const MINUTE = 60
const HOUR = 60 * MINUTE
const DELAYS = [MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR]
const LAST_DELAY = 4 * HOUR
const SPREAD = 0.2

/**
 * The same for a server that has named a time, in seconds: soon after it. After six attempts the schedule holds all the
 * same: a server that always says "in a minute" would be asked for three days.
 */
export function patientDelay(attempt: number, named: number | undefined, random: () => number = Math.random): number {
  if (named === undefined || attempt > DELAYS.length) return retryDelay(attempt, random)
  return Math.round(named * (1 + (SPREAD / 2) * random()) + 1)
}

/** Whole seconds to wait after attempt n (from 1) was deferred, +-20 % so that what failed together does not return together. */
export function retryDelay(attempt: number, random: () => number = Math.random): number {
  const delay = DELAYS[attempt - 1] ?? LAST_DELAY
  return Math.round(delay * (1 - SPREAD + 2 * SPREAD * random()))
}
