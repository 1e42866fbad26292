import { randomUUID } from 'node:crypto'
import { chmod, rm } from 'node:fs/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { migrate } from '#sql/migrate.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { startEmbeddedPostgres } from '#workers/embedded_postgres/start.ts'

/** A server with a migrated database, `mailbrook`, as a template. `url` is that of another database, from which to copy. */
export type TestServer = { url: string; stop(): Promise<void> }

/** The variable in which test/setup.ts passes the url of the server to the test files, which are separate processes. */
export const SERVER_VARIABLE = 'MAILBROOK_TEST_SERVER'

/** Test data need not survive a crash, so it is not synced; MAILBROOK_TEST_FSYNC=1 for realistic measurements. */
const settings: Record<string, string> =
  process.env.MAILBROOK_TEST_FSYNC === '1' ? {} : { fsync: 'off', full_page_writes: 'off' }

/** Creates a migrated, empty database; returns its url. It is dropped at the end of the test. */
export function createDatabase(t: Test): Promise<string> {
  return copyDatabase(t, 'mailbrook')
}

/** Creates a database without tables. */
export function createEmptyDatabase(t: Test): Promise<string> {
  return copyDatabase(t, 'template0')
}

/** Copies another database with all its contents; nobody may be connected to that. */
export async function copyDatabase(t: Test, template: string): Promise<string> {
  const url = process.env[SERVER_VARIABLE] ?? (await startOwnServer())
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copying files takes a third of the time of copying through the log.
  const copy = `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`
  await administer(url, client => client.query(copy))
  t.teardown(() => administer(url, client => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)))
  return urlOf(url, name)
}

let ownServer: Promise<string> | undefined

/** For a test file that runs alone, without test/setup.ts. */
function startOwnServer(): Promise<string> {
  ownServer ??= startTestServer().then(async ({ url, stop }) => {
    const { default: t } = await import('tap')
    t.teardown(stop)
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop().finally(() => process.exit(1)))
    return url
  })
  return ownServer
}

export async function startTestServer(): Promise<TestServer> {
  const directory = await makeScratch('mailbrook-test-')
  const removeDirectory = () => rm(directory, { recursive: true })
  try {
    await chmod(directory, 0o755) // as root, Postgres runs as another user, who must be able to enter
    const postgres = await startEmbeddedPostgres(directory, { settings: { max_connections: '500', ...settings } })
    const stop = () => postgres.stop().then(removeDirectory)
    const url = urlOf(postgres.url, 'postgres')
    await prepareTemplate(url, postgres.url).catch(error => stop().finally(() => Promise.reject(error)))
    return { url, stop }
  } catch (error) {
    await removeDirectory().catch(() => {})
    throw error
  }
}

async function prepareTemplate(url: string, template_url: string): Promise<void> {
  await migrate(template_url)
  await makeLoginCheap(url)
  await administer(url, client => client.query('ALTER DATABASE mailbrook ALLOW_CONNECTIONS false')) // connections would prevent copies
}

/** Tests open thousands of connections: with the default of 4,096 iterations, passwords take a third of the CPU time of each. */
async function makeLoginCheap(url: string): Promise<void> {
  const { username, password } = new URL(url)
  const [role, secret] = [pg.escapeIdentifier(username), pg.escapeLiteral(password)]
  await administer(url, client => client.query(`SET scram_iterations = 1; ALTER ROLE ${role} PASSWORD ${secret}`))
}

async function administer(url: string, act: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await act(client).finally(() => client.end())
}

function urlOf(url: string, database: string): string {
  const result = new URL(url)
  result.pathname = database
  return result.href
}
