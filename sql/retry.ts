import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, notFound } from '#lib/errors.ts'
import { sqlState } from './pool.ts'

const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'

const MAX_RETRIES = 3

/**
 * SQLSTATEs after which Postgres has undone the statement and a retry may succeed: serialization failure and deadlock,
 * and the errors of statements that run while a migration replaces the functions and types that they use (internal
 * error, wrong type, undefined function or object, changed plan).
 */
const CONFLICTS = new Set(['40001', '40P01', 'XX000', '42804', '42883', '42704', '0A000'])

/** Retries a statement that Postgres has undone because of a conflict: 3 times, with jitter. */
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

/** Returns true if Postgres refused the data (class 22 or 23), so that nothing of the statement was done. */
export function isRefusedData(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? '')
}

/** Returns true if another row has the same key. */
export function isDuplicate(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION
}

/**
 * Returns a handler for errors of a statement: it throws 409 with the message for a unique violation, and any other
 * error as it is.
 */
export function refuseDuplicate(message: string, statusCode = 409): (error: unknown) => never {
  return cause => {
    throw isDuplicate(cause) ? new ApiError('validation_error', message, { statusCode, cause }) : cause
  }
}

/** Handles errors of a statement that adds a row to a domain: it throws 404 if the domain was deleted meanwhile. */
export function refuseDeletedDomain(cause: unknown): never {
  throw sqlState(cause) === FOREIGN_KEY_VIOLATION ? notFound('Domain') : cause
}

/** Returns true if a lock was not available within lock_timeout. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03'
}

/** Returns true if a statement took longer than statement_timeout. */
export function isStatementTimeout(error: unknown): boolean {
  return sqlState(error) === '57014'
}

/**
 * Runs a set-based statement. If Postgres refuses its data, runs its halves instead, until the faulty item is alone and
 * gets the error as its result. No item fails because of another.
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
