import type { Foundation } from '#flows/process/run_process.ts'
import { SharedBudget } from '#lib/async/shared_budget.ts'
import { ApiError } from '#lib/errors.ts'
import { createUseCounter, type UseCounter } from '#sql/accounts/rate_limits.ts'

const TRIES_PER_MINUTE = 5

/**
 * Passwords that are checked at the same time. Each takes a thread of libuv, of which there are four, for tens of milliseconds. One
 * network gets one, so that a flood of tries with ever new addresses delays only itself.
 */
const CHECKS = new SharedBudget(3, 1)
const MAX_WAIT_S = 5

/** Counts failed attempts to sign in, per member address and network of the client, across all processes. */
export function createCountTries({ pool, log }: Foundation): UseCounter {
  const onError = (err: unknown) =>
    log.warn({ err }, 'without Postgres, each process counts its own attempts to sign in')
  return createUseCounter(pool, { name: 'sign_in', uses: TRIES_PER_MINUTE, window_s: 60, onError })
}

/** @throws {ApiError} `rate_limit_exceeded` after five failures within a minute; the errors of `run` */
export async function limitTries<T>(countTries: UseCounter, key: string, run: () => Promise<T>): Promise<T> {
  const { isAllowed, reset_s } = await countTries.count(key)
  if (!isAllowed) throw tooManyTries(reset_s)
  const result = await run()
  await countTries.giveBack(key)
  return result
}

/** @throws {ApiError} `rate_limit_exceeded` if too many tries from the network are waiting; the errors of `run` */
export async function checkInTurn<T>(network: string, run: () => Promise<T>): Promise<T> {
  const wait = CHECKS.acquire(network, 1, AbortSignal.timeout(MAX_WAIT_S * 1000))
  const release = await wait.catch(() => {
    throw tooManyTries(MAX_WAIT_S)
  })
  return run().finally(release)
}

function tooManyTries(reset_s: number): ApiError {
  const headers = { 'retry-after': String(reset_s) }
  return new ApiError('rate_limit_exceeded', `Too many tries. Try again in ${reset_s} seconds.`, { headers })
}
