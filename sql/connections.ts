import pg from 'pg'
import { newId } from '#lib/ids.ts'
import { LostConnectionError, NoAnswerError, NotConnectedError, replaceStale, sqlState } from './outage.ts'
import { refuseInside } from './own_transaction.ts'
import { cutOff, Watchdog } from './watchdog.ts'

/** Longest time of a statement, plus a second per megabyte in it. */
const STATEMENT_TIMEOUT_MS = 15_000
const LARGE = 1 << 20
/** The client times out a little after the server would have: only a connection that hangs gets this far. */
const LATE_MS = 2_000

/** A client with a unique application_name, by which its backend is found: a process id may be reused. */
class NamedClient extends pg.Client {
  readonly session: string
  readonly made_at = performance.now()

  constructor(config: pg.ClientConfig) {
    const session = `${config.application_name} ${newId().slice(-12)}`
    super({ ...config, application_name: session })
    this.session = session
  }
}

type Connections = { pool: pg.Pool; watchdog: Watchdog }

/** Runs one statement on the connection that is reserved for the work. */
export type Session = (text: string, values?: unknown[], name?: string) => Promise<pg.QueryResult>

export type ConnectionOptions = { max: number; application_name: string; onError: (error: Error) => void }

export function openConnections(database_url: string, options: ConnectionOptions): Connections {
  const pool = new pg.Pool({
    Client: NamedClient as unknown as new () => pg.Client,
    connectionString: database_url,
    max: options.max,
    application_name: options.application_name,
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
  pool.on('error', error => options.onError(new LostConnectionError(error)))
  replaceStale(pool)
  return { pool, watchdog: new Watchdog(database_url) }
}

/** Runs `work` on a connection reserved for it, which is replaced if it breaks. */
export async function withSession<T>(connections: Connections, work: (session: Session) => Promise<T>): Promise<T> {
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
  // A connection lost while checked out reports here as well as to its query; the error of the query is the one thrown.
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

/** Runs a statement. One of many megabytes gets a longer timeout, since it takes longer to transfer and to store. */
async function run(client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const length = lengthOf(query.values)
  if (length < LARGE) return client.query(query)
  const statement_timeout = STATEMENT_TIMEOUT_MS + Math.ceil((length / LARGE) * 1_000)
  await client.query(`SET statement_timeout = ${statement_timeout}`)
  // This fails in an aborted transaction, whose rollback resets the timeout.
  const reset = () => client.query('RESET statement_timeout').catch(() => {})
  try {
    const result = await client.query({ ...query, query_timeout: statement_timeout + LATE_MS } as pg.QueryConfig)
    await reset()
    return result
  } catch (error) {
    if (isSound(error)) await reset()
    throw error
  }
}

/**
 * Returns true if Postgres responded with a SQLSTATE and did not end the session. Any other error leaves the connection
 * in an unknown state.
 */
export function isSound(error: unknown): boolean {
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
    client.release(true) // opened before the network outage: the other end may have forgotten it
  }
}

async function connectOne(pool: pg.Pool): Promise<Connection> {
  try {
    return (await pool.connect()) as Connection
  } catch (cause) {
    throw new NotConnectedError(cause)
  }
}

const INT8 = 20

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format)
}
