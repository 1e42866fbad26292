import { createSqlTag, type QuerySqlToken } from '@slonik/sql-tag'
import pg from 'pg'
import type { z } from 'zod'
import { newId } from '#lib/ids.ts'
import { LostConnectionError, NoAnswerError, NotConnectedError, sqlState } from './outage.ts'
import { insideTransaction, refuseInside } from './own_transaction.ts'
import { cutOff, Watchdog } from './watchdog.ts'

export { NoAnswerError, NotConnectedError, sqlState } from './outage.ts'

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

/** A transaction's queries. What takes a Tx writes several statements in one commit, or keeps a lock for the next one. */
export type Tx = Queryable & { readonly tx: true }

export type Pool = Queryable & {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** For libraries that take a pg pool. */
  pg: pg.Pool
  /** Whether Postgres answers. */
  watchdog: Watchdog
  end(): Promise<void>
}

export type PoolOptions = { max?: number; application_name?: string; onError?: (error: Error) => void }

/** Connections of a pool, which every process has one of. */
export const POOL_CONNECTIONS = 10

/** A statement may take so long, and a second more for each megabyte in it. */
const STATEMENT_TIMEOUT_MS = 15_000
const LARGE = 1 << 20
/** The client gives up a little after the server would have: only one connection that hangs gets this far. */
const LATE_MS = 2_000

/** The backend of a connection is found by its name, which no other connection has: a process id may be used again. */
class NamedClient extends pg.Client {
  readonly session: string
  readonly made_at = performance.now()

  constructor(config: pg.ClientConfig) {
    const session = `${config.application_name} ${newId().slice(-12)}`
    super({ ...config, application_name: session })
    this.session = session
  }
}

/**
 * A pool of connections in which nothing waits without a bound: for a connection 2 s, for a lock 3 s, for a statement
 * 15 s, for a Postgres that does not reply to anything 2.5 s.
 */
export function createPool(database_url: string, options: PoolOptions = {}): Pool {
  const pool = new pg.Pool({
    Client: NamedClient as unknown as new () => pg.Client,
    connectionString: database_url,
    max: options.max ?? POOL_CONNECTIONS,
    application_name: options.application_name ?? 'mailbrook',
    connectionTimeoutMillis: 2_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + LATE_MS,
    lock_timeout: 3_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    types: { getTypeParser: getTypeParser as typeof pg.types.getTypeParser },
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', error => options.onError?.(new LostConnectionError(error)))
  const watchdog = new Watchdog(database_url)
  const connections = { pool, watchdog }

  return {
    ...queryable((text, values, name) => withClient(connections, session => session(text, values, name))),
    transaction: work =>
      withClient(connections, session => inTransaction(session, tx => insideTransaction(pool, () => work(tx)))),
    pg: pool,
    watchdog,
    end: () => pool.end(),
  }
}

type Connections = { pool: pg.Pool; watchdog: Watchdog }
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

async function withClient<T>(connections: Connections, work: (session: Session) => Promise<T>): Promise<T> {
  refuseInside(connections.pool)
  const client = await connect(connections)
  let broken: Error | undefined
  const session: Session = async (text, values, name) => {
    if (broken) throw new NoAnswerError(broken, client.session)
    try {
      return await connections.watchdog.watch(() => run(client, { text, values, name }))
    } catch (error) {
      if (isSound(error)) throw error
      broken = error as Error
      cutOff(client)
      throw new NoAnswerError(broken, client.session)
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

/** A statement of many megabytes may take longer to arrive and to be stored than others may take in total. */
async function run(client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const length = lengthOf(query.values)
  if (length < LARGE) return client.query(query)
  const statement_timeout = STATEMENT_TIMEOUT_MS + Math.ceil((length / LARGE) * 1_000)
  await client.query(`SET statement_timeout = ${statement_timeout}`)
  const reset = () => client.query('RESET statement_timeout').catch(() => {}) // refused in a lost transaction, which undoes it
  try {
    const result = await client.query({ ...query, query_timeout: statement_timeout + LATE_MS } as pg.QueryConfig)
    await reset()
    return result
  } catch (error) {
    if (isSound(error)) await reset()
    throw error
  }
}

/** Postgres answered with a SQLSTATE and did not end the session over it. Anything else leaves it in an unknown state. */
function isSound(error: unknown): boolean {
  return /^(?!57P0[123]|08)/.test(sqlState(error) ?? '08')
}

function lengthOf(values: unknown[] = []): number {
  return values.reduce<number>((sum, value) => {
    if (typeof value === 'string' || value instanceof Uint8Array) return sum + value.length
    return Array.isArray(value) ? sum + lengthOf(value) : sum
  }, 0)
}

type Connection = pg.PoolClient & NamedClient

async function connect({ pool, watchdog }: Connections): Promise<Connection> {
  for (;;) {
    if (!(await watchdog.mayConnect())) throw new NotConnectedError(new Error('Postgres does not reply'))
    const client = await connectOne(pool)
    if (client.made_at > watchdog.silent_at) return client
    client.release(true) // from before the network was away: it may be forgotten at the other end
  }
}

async function connectOne(pool: pg.Pool): Promise<Connection> {
  try {
    return (await pool.connect()) as Connection
  } catch (cause) {
    throw new NotConnectedError(cause)
  }
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
  // Postgres answers so when a statement had failed and its error was caught on the way here.
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back: one of its statements failed.')
  return result
}

const INT8 = 20

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format)
}
