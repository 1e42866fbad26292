import { apiKeyPrefix, generateApiKey, hashApiKey } from '#lib/api_key.ts'
import { newId } from '#lib/ids.ts'
import type { Secrets } from '#lib/secrets.ts'
import { insertApiKey, type NewApiKey } from '#sql/accounts/api_keys.ts'
import type { Queryable } from '#sql/pool.ts'

/** Creates a key and returns its text, which cannot be shown again: only its hash is stored. */
export async function createApiKey(
  db: Queryable,
  secrets: Secrets,
  key: Omit<NewApiKey, 'id' | 'hash' | 'prefix'> & { id?: string },
): Promise<string> {
  const text = generateApiKey()
  await insertApiKey(db, { id: newId(), ...key, prefix: apiKeyPrefix(text), hash: hashApiKey(text, secrets.pepper) })
  return text
}
