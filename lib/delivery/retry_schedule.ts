const MINUTE = 60
const HOUR = 60 * MINUTE
const DELAYS = [MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR]
const LAST_DELAY = 4 * HOUR
const SPREAD = 0.2

/**
 * As `retryDelay`, unless the server named a delay, in seconds: then the retry comes soon after it. After six attempts the
 * schedule applies anyway, or a server that always says "in a minute" would be tried every minute for three days.
 */
export function nextRetryDelay(attempt: number, named: number | undefined, random: () => number = Math.random): number {
  if (named === undefined || attempt > DELAYS.length) return retryDelay(attempt, random)
  return Math.round(named * (1 + (SPREAD / 2) * random()) + 1)
}

/**
 * Returns the whole seconds to wait after an attempt (from 1) was deferred, ±20 %, so that deliveries that failed together are not
 * retried together.
 */
export function retryDelay(attempt: number, random: () => number = Math.random): number {
  const delay = DELAYS[attempt - 1] ?? LAST_DELAY
  return Math.round(delay * (1 - SPREAD + 2 * SPREAD * random()))
}
