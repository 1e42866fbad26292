import { createSqlTag, type FragmentSqlToken, type QuerySqlToken } from '@slonik/sql-tag'
import type pg from 'pg'
import { z } from 'zod'
import { openConnections, type Session, withSession } from './connections.ts'
import { insideTransaction } from './own_transaction.ts'
import type { Watchdog } from './watchdog.ts'

export { NoAnswerError, NotConnectedError, sqlState } from './outage.ts'

export const sql = createSqlTag()

type Query<Row> = QuerySqlToken<z.ZodType<Row>>
type Statement = QuerySqlToken

/** The verb says how many rows a query returns; every row is checked against the query's zod type. */
export type Queryable = {
  any<Row>(query: Query<Row>): Promise<Row[]>
  maybeOne<Row>(query: Query<Row>): Promise<Row | null>
  one<Row>(query: Query<Row>): Promise<Row>
  /** Returns true if this `SELECT`, which needs no list of columns, finds a row. */
  exists(rows: FragmentSqlToken): Promise<boolean>
  /** Runs a statement whose rows do not matter; returns how many it affected. */
  run(statement: Statement): Promise<number>
}

/**
 * The queries of a transaction. A function that takes a Tx writes several statements in one commit, or holds a lock for
 * the next one.
 */
export type Tx = Queryable & { readonly tx: true }

export type Pool = Queryable & {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** For libraries that take a pg pool. */
  pg: pg.Pool
  /** Tells if Postgres responds. */
  watchdog: Watchdog
  end(): Promise<void>
}

export type PoolOptions = { max?: number; application_name?: string; onError?: (error: Error) => void }

/** Connections of a pool; each process has one pool. */
export const POOL_CONNECTIONS = 10

/**
 * Creates a pool of connections in which every wait is limited: for a connection 2 s, for a lock 3 s, for a statement
 * 15 s, for a Postgres that does not respond at all 2.5 s.
 */
export function createPool(database_url: string, options: PoolOptions = {}): Pool {
  const connections = openConnections(database_url, {
    max: options.max ?? POOL_CONNECTIONS,
    application_name: options.application_name ?? 'mailbrook',
    onError: options.onError ?? (() => {}),
  })
  const { pool, watchdog } = connections
  return {
    ...queryable((text, values, name) => withSession(connections, session => session(text, values, name))),
    transaction: work =>
      withSession(connections, session => inTransaction(session, tx => insideTransaction(pool, () => work(tx)))),
    pg: pool,
    watchdog,
    end: () => pool.end(),
  }
}

const Found = z.object({ found: z.boolean() })

function queryable(session: Session): Queryable {
  const rows = async <Row>(query: Query<Row>): Promise<Row[]> => {
    const result = await session(textOf(query), [...query.values], query.name)
    return result.rows.map(row => query.parser.parse(row))
  }
  const one = async <Row>(query: Query<Row>): Promise<Row> => {
    const row = atMostOne(await rows(query))
    if (row === null) throw new Error('expected one row, found none')
    return row
  }
  return {
    any: rows,
    maybeOne: async query => atMostOne(await rows(query)),
    one,
    exists: async select => (await one(sql.type(Found)`SELECT EXISTS (${select}) AS found`)).found,
    run: async query => (await session(textOf(query), [...query.values], query.name)).rowCount ?? 0,
  }
}

/** Replaces the placeholders `$slonik_1` of the tag, which uses them so that fragments can be combined. */
function textOf(query: Statement): string {
  return query.sql.replaceAll('$slonik_', '$')
}

function atMostOne<Row>(rows: Row[]): Row | null {
  if (rows.length > 1) throw new Error(`expected at most one row, found ${rows.length}`)
  return rows[0] ?? null
}

async function inTransaction<T>(session: Session, work: (tx: Tx) => Promise<T>): Promise<T> {
  await session('BEGIN')
  let result: T
  try {
    result = await work({ ...queryable(session), tx: true })
  } catch (error) {
    // The first error is the one to report: a rollback that fails too means that the connection is gone.
    await session('ROLLBACK').catch(() => {})
    throw error
  }
  const { command } = await session('COMMIT')
  // Postgres responds with ROLLBACK if a statement failed and its error was caught inside the work.
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back: one of its statements failed.')
  return result
}
