import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'

type Running = { pool: pg.Pool; isOpen: boolean }

const running = new AsyncLocalStorage<Running>()

/** Does the work of a transaction of the pool, whose own queries refuseInside() refuses until it is done. */
export async function insideTransaction<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const transaction = { pool, isOpen: true }
  try {
    return await running.run(transaction, work)
  } finally {
    transaction.isOpen = false // what was started here and goes on later is no longer inside
  }
}

/**
 * A query of the pool inside a transaction of the same pool would not belong to its commit, and would wait for a second
 * connection while it holds the first: with all connections in such transactions, none would get one.
 */
export function refuseInside(pool: pg.Pool): void {
  const transaction = running.getStore()
  if (transaction?.isOpen && transaction.pool === pool) {
    throw new Error('A query of the pool was begun inside its own transaction: use `tx`.')
  }
}
