import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Config } from '#lib/config.ts'
import { StartupError } from '#lib/errors.ts'
import type { Log } from '#lib/log.ts'
import type { EmbeddedPostgres } from './start.ts'
import { giveTo, type User } from './user.ts'

export const DATA_DIRECTORY = join(import.meta.dirname, '..', '..', '.data')

/** Length in characters of 32 bytes in base64. */
const KEY_LENGTH = 44

const DISCONNECT_MS = 2_000

const SHARED_USER =
  'Postgres cannot run as root, and .data has no other owner: any program on this machine that runs as the same user ' +
  'can read and change all mail. Stop Mailbrook, then: chown -R SOME_USER .data'

/** The configuration with a database: that of DATABASE_URL, or the embedded one in `.data/`. */
export type LocalDatabase = Pick<EmbeddedPostgres, 'stop' | 'kill' | 'failed'> & { config: Config }

const elsewhere = { stop: async () => {}, kill: async () => {}, failed: new Promise<never>(() => {}) }

/** Opens the database. `share`: for a short command, which joins a running Mailbrook. @throws {StartupError} */
export async function openDatabase(config: Config, share: boolean, log?: Log): Promise<LocalDatabase> {
  if (config.DATABASE_URL) return { config, ...elsewhere }
  // A production install has no embedded Postgres, so it is loaded only if it is needed.
  const { startEmbeddedPostgres } = await import('./start.ts')
  await makeDirectory(DATA_DIRECTORY)
  const onRestart = (pause_ms: number, reason: string) =>
    log?.error({ pause_ms, reason }, 'the embedded Postgres has ended and is started again')
  const postgres = await startEmbeddedPostgres(DATA_DIRECTORY, { share, onRestart })
  const { user } = postgres
  if (user?.shared_name && !share) log?.warn({ user: user.shared_name }, SHARED_USER)
  try {
    // The key stays a file of root if the data belongs to a user that other programs run as, too.
    const owner = user?.shared_name === null ? user : undefined
    const SECRET_KEY = config.SECRET_KEY ?? (await readSecretKey(owner))
    const stop = () => (share ? postgres.stop() : waitForDisconnects(postgres.url).then(postgres.stop))
    return { ...postgres, config: { ...config, DATABASE_URL: postgres.url, SECRET_KEY }, stop }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

/** Returns the database, or null if there is none to connect to. Does not create or start the embedded one. */
export async function joinDatabase(config: Config): Promise<LocalDatabase | null> {
  if (config.DATABASE_URL) return openDatabase(config, true)
  const { isServerRunning } = await import('./server.ts')
  return (await isServerRunning(DATA_DIRECTORY)) ? openDatabase(config, true) : null
}

/**
 * Waits until the connections of ended pools are closed, which happens after `pool.end()`. If Postgres cut them off, their
 * errors would end the process.
 */
async function waitForDisconnects(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: DISCONNECT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    for (const limit = performance.now() + DISCONNECT_MS; performance.now() < limit; await sleep(10)) {
      const { rowCount } = await client.query(
        "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database()",
      )
      if (rowCount === 1) break // only our own connection is left
    }
  } catch {
    // The server has already ended.
  } finally {
    await client.end().catch(() => {})
  }
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new StartupError(`Cannot write to ${directory}: ${(cause as Error).message}`, { cause })
  }
}

/** Reads the secret key, which the first start creates. Without this file, the sealed keys in the database are lost. */
async function readSecretKey(owner: User | undefined): Promise<string> {
  const file = join(DATA_DIRECTORY, 'secret_key')
  try {
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await giveTo(owner, file)
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST')
      throw new StartupError(`Cannot write to ${file} (${errorCode(cause)})`, { cause })
  }
  const key = await readFile(file, 'utf8').catch(cause => {
    throw new StartupError(`Cannot read ${file} (${errorCode(cause)})`, { cause })
  })
  // A full disk may have truncated the file. Anybody could decrypt data that an empty key encrypts.
  if (key.trim().length < KEY_LENGTH) throw new StartupError(`${file} does not contain a complete key: restore it`)
  return key.trim()
}

function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
