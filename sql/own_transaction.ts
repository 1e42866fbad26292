import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'

type Running = { pool: pg.Pool; isOpen: boolean }

const running = new AsyncLocalStorage<Running>()

/** Runs the work of a transaction of the pool; refuseInside() refuses queries of the pool itself until it is done. */
export async function insideTransaction<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const transaction = { pool, isOpen: true }
  try {
    return await running.run(transaction, work)
  } finally {
    transaction.isOpen = false // work that was started here and continues later is no longer inside
  }
}

/**
 * Throws inside a transaction of the same pool: a query of the pool would not belong to its commit, and would wait for
 * a second connection while holding the first. With all connections in such transactions, none would get one.
 */
export function refuseInside(pool: pg.Pool): void {
  const transaction = running.getStore()
  if (transaction?.isOpen && transaction.pool === pool) {
    throw new Error('A query of the pool was begun inside its own transaction: use `tx`.')
  }
}
