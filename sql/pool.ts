import { createSqlTag, type QuerySqlToken } from '@slonik/sql-tag'
import pg from 'pg'
import type { z } from 'zod'

export const sql = createSqlTag()

type Query<Row> = QuerySqlToken<z.ZodType<Row>>
type Statement = QuerySqlToken

/** How many rows a query answers is in its verb; every row is checked against the query's zod type. */
export type Queryable = {
  any<Row>(query: Query<Row>): Promise<Row[]>
  maybeOne<Row>(query: Query<Row>): Promise<Row | null>
  one<Row>(query: Query<Row>): Promise<Row>
  /** Runs a statement whose rows do not matter; answers how many it touched. */
  run(statement: Statement): Promise<number>
}

export type Pool = Queryable & {
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** For libraries that take a pg pool. */
  pg: pg.Pool
  end(): Promise<void>
}

export type PoolOptions = { max?: number; application_name?: string; onError?: (error: Error) => void }

/** No connection was free or could be made in time: nothing was sent, so nothing was done. */
export class NotConnectedError extends Error {
  constructor(cause: unknown) {
    // A refused connection to a name with several addresses is an AggregateError with an empty message.
    const inner = cause instanceof AggregateError ? cause.errors[0] : cause
    super(inner instanceof Error ? inner.message : String(inner), { cause })
  }
}

/** Postgres did not answer, or no more: what was sent to it may be done, or not. */
export class NoAnswerError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** Connections of a pool, which every process has one of. */
export const POOL_CONNECTIONS = 10

/** The client gives up a little after the server would have: only a dead network gets this far. */
const STATEMENT_TIMEOUT_MS = 15_000
const QUERY_TIMEOUT_MS = 17_000

/**
 * A pool of connections in which nothing waits without a bound: for a connection 2 s, for a lock 3 s, for a statement
 * 15 s, for the network 17 s.
 */
export function createPool(database_url: string, options: PoolOptions = {}): Pool {
  const pool = new pg.Pool({
    connectionString: database_url,
    max: options.max ?? POOL_CONNECTIONS,
    application_name: options.application_name ?? 'mailbrook',
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    lock_timeout: 3_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types: { getTypeParser: getTypeParser as typeof pg.types.getTypeParser },
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', options.onError ?? (() => {}))

  return {
    ...queryable((text, values, name) => withClient(pool, session => session(text, values, name))),
    transaction: work => withClient(pool, session => inTransaction(session, work)),
    pg: pool,
    end: () => pool.end(),
  }
}

type Session = (text: string, values?: unknown[], name?: string) => Promise<pg.QueryResult>

function queryable(session: Session): Queryable {
  const rows = async <Row>(query: Query<Row>): Promise<Row[]> => {
    const result = await session(textOf(query), [...query.values], query.name)
    return result.rows.map(row => query.parser.parse(row))
  }
  return {
    any: rows,
    maybeOne: async query => atMostOne(await rows(query)),
    one: async query => {
      const row = atMostOne(await rows(query))
      if (row === null) throw new Error('expected one row, found none')
      return row
    },
    run: async query => (await session(textOf(query), [...query.values], query.name)).rowCount ?? 0,
  }
}

/** The tag numbers its placeholders `$slonik_1`, so that fragments can be put together. */
function textOf(query: Statement): string {
  return query.sql.replaceAll('$slonik_', '$')
}

function atMostOne<Row>(rows: Row[]): Row | null {
  if (rows.length > 1) throw new Error(`expected at most one row, found ${rows.length}`)
  return rows[0] ?? null
}

async function withClient<T>(pool: pg.Pool, work: (session: Session) => Promise<T>): Promise<T> {
  const client = await connect(pool)
  let broken: Error | undefined
  const session: Session = async (text, values, name) => {
    try {
      return await client.query({ text, values, name } as pg.QueryConfig)
    } catch (error) {
      // Postgres answered with a SQLSTATE: the session is sound. Anything else leaves it in an unknown state.
      if (sqlState(error) !== null) throw error
      broken = error as Error
      throw new NoAnswerError(broken)
    }
  }
  // A connection lost while checked out reports here as well as to its query, whose error is the one we throw.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    return await work(session)
  } finally {
    client.removeListener('error', onError)
    client.release(broken)
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (cause) {
    throw new NotConnectedError(cause)
  }
}

async function inTransaction<T>(session: Session, work: (tx: Queryable) => Promise<T>): Promise<T> {
  await session('BEGIN')
  let result: T
  try {
    result = await work(queryable(session))
  } catch (error) {
    // The first error is the one to report: a rollback that fails too means that the connection is gone.
    await session('ROLLBACK').catch(() => {})
    throw error
  }
  const { command } = await session('COMMIT')
  // Postgres answers so when a statement had failed and its error was caught on the way here.
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back: one of its statements failed.')
  return result
}

const INT8 = 20

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format)
}

/** The SQLSTATE Postgres answered, or null when it did not answer: connection lost, refused, timed out. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null
}
