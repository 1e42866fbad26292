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
  /** For graphile-worker, which takes a pg pool. */
  pg: pg.Pool
  end(): Promise<void>
}

export type PoolOptions = { max?: number; application_name?: string; onError?: (error: Error) => void }

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
    max: options.max ?? 10,
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
    ...queryable((text, values, name) => withClient(pool, client => client.query({ text, values, name }))),
    transaction: work => withClient(pool, client => inTransaction(client, work)),
    pg: pool,
    end: () => pool.end(),
  }
}

type Send = (text: string, values: unknown[], name?: string) => Promise<pg.QueryResult>

function queryable(send: Send): Queryable {
  const rows = async <Row>(query: Query<Row>): Promise<Row[]> => {
    const result = await send(textOf(query), [...query.values], query.name)
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
    run: async query => (await send(textOf(query), [...query.values], query.name)).rowCount ?? 0,
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

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  // A connection lost while checked out reports here as well as to its query; the query's error is the one we throw.
  const ignore = () => {}
  client.on('error', ignore)
  let failure: unknown
  try {
    return await work(client)
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.removeListener('error', ignore)
    // Postgres answered with a SQLSTATE: the session is sound. Anything else leaves it in an unknown state.
    client.release(failure !== undefined && sqlState(failure) === null ? (failure as Error) : undefined)
  }
}

async function inTransaction<T>(client: pg.PoolClient, work: (tx: Queryable) => Promise<T>): Promise<T> {
  await client.query('BEGIN')
  let result: T
  try {
    result = await work(queryable((text, values, name) => client.query({ text, values, name })))
  } catch (error) {
    // The first error is the one to report: a rollback that fails too means that the connection is gone.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
  await client.query('COMMIT')
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
