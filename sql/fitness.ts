import pg from 'pg'
import { StartupError } from '#lib/errors.ts'
import { OLDEST_POSTGRES } from './migrations.ts'
import { NotConnectedError } from './outage.ts'

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
