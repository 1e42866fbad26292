import { runMigrations } from 'graphile-worker'
import pg from 'pg'
import { readConfig } from '#lib/config.ts'
import { StartupError } from '#lib/errors.ts'
import { reportFatal } from '#lib/log.ts'
import { silentLogger } from './graphile.ts'
import { listMigrations, type Migration } from './migrations.ts'
import { NotConnectedError } from './pool.ts'

/** Any fixed number: processes that migrate the same database at the same moment take turns. */
const MIGRATION_LOCK = 7_205_113

/** Brings a database to what this code needs: graphile-worker's schema first, then ours, each file in one transaction. */
export async function migrate(database_url: string): Promise<void> {
  const client = new pg.Client({ connectionString: database_url, connectionTimeoutMillis: 5_000 })
  await connect(client)
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await runMigrations({ connectionString: database_url, logger: silentLogger })
    await client.query(
      'CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
    )
    const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations')
    const applied = new Set(rows.map(row => row.name))
    for (const migration of await listMigrations()) {
      if (!applied.has(migration.name)) await apply(client, migration)
    }
  } finally {
    await client.end()
  }
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect()
  } catch (cause) {
    throw unreachable(new NotConnectedError(cause))
  }
}

/** What to tell an operator whose database does not answer. */
export function unreachable(cause: NotConnectedError): StartupError {
  return new StartupError(`The database of DATABASE_URL cannot be reached: ${cause.message}`, { cause })
}

async function apply(client: pg.Client, { name, text, replaces }: Migration): Promise<void> {
  const forget = replaces ? `DELETE FROM migrations WHERE starts_with(name, ${client.escapeLiteral(replaces)});` : ''
  try {
    // One simple query is one transaction.
    await client.query(`${text}; ${forget} INSERT INTO migrations (name) VALUES (${client.escapeLiteral(name)})`)
  } catch (cause) {
    throw new Error(`migration ${name} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

async function main(): Promise<void> {
  const { DATABASE_URL } = readConfig()
  if (!DATABASE_URL)
    throw new StartupError('DATABASE_URL is not set; npm start migrates its embedded Postgres by itself.')
  await migrate(DATABASE_URL)
}

if (import.meta.main) {
  await main().catch(error => {
    reportFatal(error)
    process.exitCode = 1
  })
}
