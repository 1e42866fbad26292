import { StartupError } from '#lib/errors.ts'
import { createSecrets, type Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'
import { findSetting, insertSetting } from '#sql/process/settings.ts'

const NAME = 'secret_key_check'
const CONTEXT = `settings|value|${NAME}|`

/**
 * The secrets of SECRET_KEY, once it is known to be the one this database was made with: with another key no API key
 * would be valid and no stored key could be opened.
 *
 * @throws {StartupError}
 */
export async function openSecrets(pool: Pool, secret_key: string): Promise<Secrets> {
  const secrets = createSecrets(secret_key)
  if (await isUnused(pool, secrets)) {
    await insertSetting(pool, NAME, secrets.seal(Buffer.from(NAME), CONTEXT))
    await isUnused(pool, secrets) // of two processes that do so with two keys, one must not start
  }
  return secrets
}

/** Whether no SECRET_KEY has been used with this database yet. @throws {StartupError} when another one has */
export async function isUnused(pool: Pool, secrets: Secrets): Promise<boolean> {
  const sealed = await findSetting(pool, NAME)
  if (!sealed) return true
  try {
    secrets.open(sealed, CONTEXT)
    return false
  } catch (cause) {
    throw new StartupError('SECRET_KEY is not the one this database was set up with.', { cause })
  }
}
