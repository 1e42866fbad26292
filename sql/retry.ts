import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '#lib/errors.ts'
import { sqlState } from './pool.ts'

const UNIQUE_VIOLATION = '23505'

const MAX_RETRIES = 3

/**
 * Serialization failure and deadlock; and what a statement ends in while a migration replaces the functions and types that
 * it uses: internal error, wrong type, undefined function or object, changed plan. Postgres has undone the statement.
 */
const CONFLICTS = new Set(['40001', '40P01', 'XX000', '42804', '42883', '42704', '0A000'])

/** Runs a statement again when Postgres undid it for a conflict with others: 3 times, with jitter. */
export async function retryConflicts<T>(run: () => Promise<T>): Promise<T> {
  for (let retry = 0; ; retry++) {
    try {
      return await run()
    } catch (error) {
      if (!CONFLICTS.has(sqlState(error) ?? '') || retry >= MAX_RETRIES) throw error
      await sleep(Math.random() * 50 * 2 ** retry)
    }
  }
}

/** Postgres refused the data (class 22 or 23) and so nothing of the statement was done. */
export function isRefusedData(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '')
}

/** For a statement that may find what must be unique taken: throws 409 with the message then, and any other error as it is. */
export function refuseDuplicate(message: string, statusCode = 409): (error: unknown) => never {
  return cause => {
    throw sqlState(cause) === UNIQUE_VIOLATION
      ? new ApiError('validation_error', message, { statusCode, cause })
      : cause
  }
}

/** A lock was not to be had within lock_timeout. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** A statement took longer than statement_timeout. */
export function isStatementTimeout(error: unknown): boolean {
  return sqlState(error) === '57014'
}

/**
 * Runs a set-based statement; when Postgres refuses its data, runs its halves instead, until the culprit stands alone
 * and gets the error as its result. Nobody fails for another's data.
 */
export async function splitOnRefusal<In, Out>(
  items: In[],
  run: (items: In[]) => Promise<(Out | Error)[]>,
): Promise<(Out | Error)[]> {
  try {
    return await retryConflicts(() => run(items))
  } catch (error) {
    if (!isRefusedData(error)) throw error
    if (items.length === 1) return [error as Error]
    const middle = Math.ceil(items.length / 2)
    return [...(await splitOnRefusal(items.slice(0, middle), run)), ...(await splitOnRefusal(items.slice(middle), run))]
  }
}
