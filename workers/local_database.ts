import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../lib/config.ts'
import { StartupError } from '../lib/errors.ts'

export const DATA_DIRECTORY = join(import.meta.dirname, '..', '.data')

/** The configuration with a database: the one of DATABASE_URL, or the embedded one of `.data/`. */
export type LocalDatabase = { config: Config; stop(): Promise<void> }

/** `share`: for a short command, which joins a running Mailbrook. @throws {StartupError} */
export async function openDatabase(config: Config, share: boolean): Promise<LocalDatabase> {
  if (config.DATABASE_URL) return { config, stop: async () => {} }
  // A production install has no embedded Postgres, so it is not loaded unless it is asked for.
  const { startEmbeddedPostgres } = await import('./embedded_postgres.ts')
  await makeDirectory(DATA_DIRECTORY)
  const postgres = await startEmbeddedPostgres(DATA_DIRECTORY, { share })
  try {
    const SECRET_KEY = config.SECRET_KEY ?? (await readSecretKey())
    return { config: { ...config, DATABASE_URL: postgres.url, SECRET_KEY }, stop: () => postgres.stop() }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true })
  } catch (cause) {
    throw new StartupError(`Cannot write to ${directory}: ${(cause as Error).message}`, { cause })
  }
}

/** Made at the first start. Whoever loses this file loses the sealed keys in the database. */
async function readSecretKey(): Promise<string> {
  const file = join(DATA_DIRECTORY, 'secret_key')
  try {
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return (await readFile(file, 'utf8')).trim()
}
