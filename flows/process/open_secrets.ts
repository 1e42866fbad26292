import { StartupError } from '#lib/errors.ts'
import { createSecrets, type Secrets } from '#lib/secrets.ts'
import type { Pool } from '#sql/pool.ts'
import { findSetting, insertSetting } from '#sql/process/settings.ts'

const NAME = 'secret_key_check'
const CONTEXT = `settings|value|${NAME}|`

/**
 * Returns the secrets of SECRET_KEY after checking that this database was set up with it: with another key no API key
 * would be valid and no stored key could be opened.
 *
 * @throws {StartupError}
 */
export async function openSecrets(pool: Pool, secret_key: string): Promise<Secrets> {
  const secrets = createSecrets(secret_key)
  if (await isUnused(pool, secrets)) {
    await insertSetting(pool, NAME, secrets.seal(Buffer.from(NAME), CONTEXT))
    await isUnused(pool, secrets) // if two processes insert it with different keys, one must not start
  }
  return secrets
}

/** Returns true if no SECRET_KEY has been used with this database yet. @throws {StartupError} if another one has */
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
