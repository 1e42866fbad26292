import pg from 'pg'
import { StartupError } from '#lib/errors.ts'
import { OLDEST_POSTGRES } from './migrations.ts'
import { NotConnectedError, sqlState } from './outage.ts'

/** Opens a connection outside the pools, which the caller must end. @throws {NotConnectedError} */
export async function connect(database_url: string): Promise<pg.Client> {
  try {
    // Throws if a file that the URL names, such as sslrootcert, cannot be read.
    const client = new pg.Client({ connectionString: database_url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {}) // the pending or next statement rejects with it
    await client.connect()
    return client
  } catch (cause) {
    throw new NotConnectedError(cause)
  }
}

/**
 * Refuses a database in which statements fail, or compare addresses in another way than JavaScript does.
 *
 * @throws {StartupError}
 */
export async function refuseUnfit(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`
    SELECT current_database() AS name, current_setting('server_encoding') AS encoding, lower('I') = 'i' AS is_lowered,
      current_setting('DateStyle') AS dates, current_setting('server_version') AS version,
      current_setting('server_version_num')::integer AS version_number
  `)
  const { name, encoding, is_lowered, dates, version, version_number } = rows[0]
  const create = `create it with: CREATE DATABASE ${name} ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0`
  if (version_number < OLDEST_POSTGRES * 10_000)
    throw new StartupError(`Postgres must be version ${OLDEST_POSTGRES} or newer; that of DATABASE_URL is ${version}.`)
  if (encoding !== 'UTF8')
    throw new StartupError(`The database ${name} has the encoding ${encoding}, not UTF8; ${create}`)
  if (!is_lowered) throw new StartupError(`The locale of the database ${name} does not turn I into i; ${create}`)
  if (!dates.startsWith('ISO'))
    throw new StartupError(`The DateStyle of the role or of the database ${name} is ${dates}, not ISO.`)
}

/** A pooler gives a session that is free to its next client, who may be another process. */
const ROUNDS = 5
const REPLY_MS = 5_000

/**
 * Refuses a pooler that keeps a session of Postgres for each transaction only: prepared statements and settings of the
 * session get lost then.
 *
 * @throws {StartupError}
 */
export async function refuseLostSessions(database_url: string): Promise<void> {
  if (await losesSessions(database_url))
    throw new StartupError(
      'DATABASE_URL leads through a pooler that keeps no sessions: set pool_mode = session in pgbouncer.ini, ' +
        'and see "Connections to Postgres" in docs/operating.md.',
    )
}

/** Returns true behind a pooler such as PgBouncer with `pool_mode = transaction`. @throws {NotConnectedError} */
export async function losesSessions(database_url: string): Promise<boolean> {
  const client = (await connect(database_url)) as pg.Client & { processID: number }
  try {
    const session = await sessionOf(client)
    return session !== client.processID && (await isShared(client, session, database_url))
  } finally {
    await client.end()
  }
}

/** Returns true if another client gets the session of this one, or this one another session, between transactions. */
async function isShared(client: pg.Client, session: number, database_url: string): Promise<boolean> {
  const other = await connect(database_url)
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = await sessionOf(client)
      await ask(other, 'BEGIN')
      const taken = await sessionOf(other)
      const after = await sessionOf(client)
      await ask(other, 'COMMIT')
      if (taken === session || before !== session || after !== session) return true
    }
    return false
  } finally {
    await other.end()
  }
}

async function sessionOf(client: pg.Client): Promise<number> {
  return (await ask(client, 'SELECT pg_backend_pid() AS pid')).rows[0].pid
}

async function ask(client: pg.Client, text: string): Promise<pg.QueryResult> {
  try {
    return await client.query({ text, query_timeout: REPLY_MS } as pg.QueryConfig)
  } catch (error) {
    throw sqlState(error) === null ? new NotConnectedError(error) : error
  }
}
