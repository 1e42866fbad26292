import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { networkOf } from '#lib/net/client_address.ts'
import { type CountUse, createCountUse } from '#sql/accounts/rate_limits.ts'

/** Length of the window in which sends per client address are counted. */
export const WINDOW_S = 60

/** Returns a function that counts a send (HTTP or SMTP) of a client address; null if sends are not limited. */
export function createCountAddress({ config, log, pool }: Foundation): CountUse | null {
  const { SENDS_PER_MINUTE: uses } = config
  if (uses === 0) return null
  const onError = (error: unknown) => log.warn({ err: error }, 'without Postgres, each process counts its own sends')
  const countUse = createCountUse(pool, { name: 'send', uses, window_s: WINDOW_S, onError })
  return address => countUse(networkOf(address))
}

export function tooManySends(uses: number, reset_s: number): ApiError {
  const message = `Too many requests: at most ${uses} per minute may be sent from one client address.`
  return new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': String(reset_s) } })
}
