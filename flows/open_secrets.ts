import { StartupError } from '../lib/errors.ts'
import { createSecrets, type Secrets } from '../lib/secrets.ts'
import type { Pool } from '../sql/pool.ts'
import { findSetting, insertSetting } from '../sql/settings.ts'

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
  const stored = await findSetting(pool, NAME)
  if (!stored) await insertSetting(pool, NAME, secrets.seal(Buffer.from(NAME), CONTEXT))
  try {
    const sealed = await findSetting(pool, NAME)
    secrets.open(sealed as Buffer, CONTEXT)
  } catch (cause) {
    throw new StartupError('SECRET_KEY is not the one this database was set up with.', { cause })
  }
  return secrets
}
