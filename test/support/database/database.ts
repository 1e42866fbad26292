import { randomUUID } from 'node:crypto'
import { chmod, rm } from 'node:fs/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { migrate } from '#sql/migrate.ts'
import { makeScratch } from '#test/support/scratch.ts'
import { startEmbeddedPostgres } from '#workers/embedded_postgres/start.ts'

/** A server with a migrated database, `mailbrook`, to make copies of. `url` is of another one, to make them from. */
export type TestServer = { url: string; stop(): Promise<void> }

/** Where test/setup.ts leaves the url of the server for the test files, each a process of its own. */
export const SERVER_VARIABLE = 'MAILBROOK_TEST_SERVER'

/** Data that nobody needs after a crash need not be on disk; MAILBROOK_TEST_FSYNC=1 for figures that are true. */
const settings: Record<string, string> =
  process.env.MAILBROOK_TEST_FSYNC === '1' ? {} : { fsync: 'off', full_page_writes: 'off' }

/** The url of a migrated, empty database of its own; dropped at the end of the test. */
export function createDatabase(t: Test): Promise<string> {
  return copyDatabase(t, 'mailbrook')
}

/** The same without any tables. */
export function createEmptyDatabase(t: Test): Promise<string> {
  return copyDatabase(t, 'template0')
}

/** The same with all that another database has, to which nobody may be connected. */
export async function copyDatabase(t: Test, template: string): Promise<string> {
  const url = process.env[SERVER_VARIABLE] ?? (await startOwnServer())
  const name = `test_${randomUUID().replaceAll('-', '')}`
  // Copied file by file it takes a third of the time that it takes by way of the log.
  const copy = `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`
  await administer(url, client => client.query(copy))
  t.teardown(() => administer(url, client => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)))
  return urlOf(url, name)
}

let ownServer: Promise<string> | undefined

/** For a test file that is run alone, without test/setup.ts. */
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
    await chmod(directory, 0o755) // as root, Postgres runs as a user that must get there
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
  await administer(url, client => client.query('ALTER DATABASE mailbrook ALLOW_CONNECTIONS false')) // they prevent copies
}

/** Tests open thousands of connections: with 4,096 iterations a third of the CPU time of each goes to its password. */
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
