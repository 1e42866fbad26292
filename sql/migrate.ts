import { setTimeout as sleep } from 'node:timers/promises'
import { runMigrations } from 'graphile-worker'
import type pg from 'pg'
import { readConfig } from '#lib/config.ts'
import { StartupError } from '#lib/errors.ts'
import { reportFatal } from '#lib/log.ts'
import { connect, refuseLostSessions, refuseUnfit } from './fitness.ts'
import { openGraphilePool, silentLogger } from './graphile.ts'
import { EARLIER, listMigrations, type Migration } from './migrations.ts'
import { unusable } from './outage.ts'
import { isLockTimeout } from './retry.ts'

/** Arbitrary fixed number: processes that migrate the same database at the same time take turns. */
const MIGRATION_LOCK = 7_205_113

/**
 * Longest wait for a lock, after which the migration is rolled back and tried again: a dump or a long query holds locks
 * for hours, and everybody else who needs the table waits behind us. Shorter than the lock_timeout of connections.ts.
 */
const LOCK_MS = 1_000
const PAUSE_MS = 2_000

/** Suffix of migrations whose statements run one by one, outside a transaction. */
const OUTSIDE_TRANSACTIONS = '.concurrently.sql'

/** Migrates a database to what this code needs: first graphile-worker's schema, then ours. @throws {StartupError} */
export async function migrate(database_url: string): Promise<void> {
  try {
    await refuseLostSessions(database_url)
    await migrateBy(await connect(database_url), database_url)
  } catch (error) {
    throw unusable(error)
  }
}

async function migrateBy(client: pg.Client, database_url: string): Promise<void> {
  try {
    await client.query('SET statement_timeout = 0') // a role may have a short one, and an index takes minutes
    await refuseUnfit(client)
    await takeTurn(client)
    await migrateJobQueue(database_url)
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

async function migrateJobQueue(database_url: string): Promise<void> {
  const pgPool = openGraphilePool(database_url, 1, silentLogger)
  await runMigrations({ pgPool, logger: silentLogger }).finally(() => pgPool.end())
}

/** Takes the lock by polling: a waiting statement would block an index that another process builds concurrently. */
async function takeTurn(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS taken', [MIGRATION_LOCK])
    if (rows[0].taken) return
    await sleep(200)
  }
}

async function apply(client: pg.Client, { name, text, replaces }: Migration): Promise<void> {
  const note = `${replaces ? keepPrevious(replaces) : ''} INSERT INTO migrations (name) VALUES (${client.escapeLiteral(name)})`
  try {
    if (name.endsWith(OUTSIDE_TRANSACTIONS)) {
      // A concurrent index build cannot run in a transaction. Each statement may run again.
      for (const statement of text.split(/;\s*$/m)) if (statement.trim()) await run(client, name, statement)
      await client.query(note)
      return
    }
    // One simple query is one transaction.
    await run(client, name, `${text}; ${note}`)
  } catch (cause) {
    throw new Error(`migration ${name} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

/** Runs a statement. One that locks a table against others tries again until nobody uses the table. */
async function run(client: pg.Client, name: string, text: string): Promise<void> {
  // It blocks nobody while it waits for earlier transactions.
  const isConcurrent = /^\s*(?:--.*\n\s*)*(?:CREATE|DROP)\s+INDEX\s+CONCURRENTLY/.test(text)
  await client.query(`SET lock_timeout = ${isConcurrent ? 0 : LOCK_MS}`)
  for (let isFirst = true; ; isFirst = false) {
    try {
      await client.query(text)
      return
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      if (isFirst) console.error(`migration ${name} waits until a long transaction, such as a dump, has ended`)
      await sleep(PAUSE_MS)
    }
  }
}

/** Returns statements that note the version which is replaced as the earlier one, and forget the one before it. */
function keepPrevious(prefix: string): string {
  return `
    DELETE FROM migrations WHERE starts_with(name, '${EARLIER}${prefix}');
    UPDATE migrations SET name = '${EARLIER}' || name WHERE starts_with(name, '${prefix}');
  `
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
