import pg from 'pg'
import { OutageError, StartupError } from '#lib/errors.ts'

/** No connection was free or could be opened in time: nothing was sent, so nothing was done. */
export class NotConnectedError extends OutageError {
  constructor(cause: unknown) {
    // A refused connection to a name with several addresses is an AggregateError with an empty message.
    const inner = cause instanceof AggregateError ? cause.errors[0] : cause
    super(inner instanceof Error ? inner.message : String(inner), { cause })
  }
}

/**
 * Postgres did not respond to a statement, which may be done, undone or still running. `session`: the application_name
 * of the connection, by which `endSession` finds its backend.
 */
export class NoAnswerError extends OutageError {
  readonly session: string

  constructor(cause: Error, session: string) {
    super(cause.message, { cause })
    this.session = session
  }
}

/** An idle connection broke. */
export class LostConnectionError extends OutageError {
  constructor(cause: Error) {
    super(cause.message, { cause })
  }
}

/** Returns the SQLSTATE of a Postgres error; null if Postgres did not respond: connection lost, refused, timed out. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null
}

const READ_ONLY = '25006'

/**
 * Errors that recur on one connection alone, which is therefore replaced: a plan may refer to a function that a migration
 * has replaced (internal error), and a session that was opened while the server was read-only, or is one of a standby,
 * stays read-only after a failover.
 */
const STALE = new Set(['XX000', READ_ONLY])

/** Returns true for the error of a statement that would write on a standby, or with default_transaction_read_only. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === READ_ONLY
}

/** Makes a pool replace a connection after an error that would recur on it. */
export function replaceStale(pool: pg.Pool): void {
  const stale = new WeakSet<pg.PoolClient>()
  pool.on('connect', client =>
    client.connection.on('errorMessage', error => {
      if (STALE.has(sqlState(error) ?? '')) stale.add(client)
    }),
  )
  // The pool does not take back a client that ends.
  pool.on('release', (_, client) => {
    if (stale.has(client)) void client.end()
  })
}

/** Advice for operators by SQLSTATE. PgBouncer responds with 08P01 to the timeouts of connections.ts. */
const ADVICE: Record<string, string> = {
  '08P01': 'For a pooler such as PgBouncer, see "Connections to Postgres" in docs/operating.md.',
  53300: 'Raise max_connections of Postgres, or the limit of the role, or end other connections.',
  25006: 'DATABASE_URL must lead to the primary, without default_transaction_read_only.',
  42501: 'The role of DATABASE_URL must own the database and everything in it: ALTER DATABASE name OWNER TO role',
}

/** Returns what an operator can do about an error of Postgres, or about its cause; null if there is no advice. */
export function adviceFor(error: unknown): string | null {
  return ADVICE[sqlState(error) ?? sqlState((error as Error).cause) ?? ''] ?? null
}

/** Returns the error for an operator whose database cannot be used when a process starts; other errors as they are. */
export function unusable(error: unknown): unknown {
  const advice = adviceFor(error)
  if (!(error instanceof NotConnectedError) && advice === null) return error
  const reason = (error as Error).message
  const message =
    error instanceof NotConnectedError ? `The database of DATABASE_URL cannot be reached: ${reason}` : reason
  return new StartupError(advice === null ? message : `${message}. ${advice}`, { cause: error })
}
