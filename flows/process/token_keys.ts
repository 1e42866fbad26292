import { randomBytes } from 'node:crypto'
import type { Secrets } from '#lib/secrets.ts'
import { TokenKeys } from '#lib/token_keys.ts'
import type { Pool } from '#sql/pool.ts'
import { insertTokenKey, listTokenKeys } from '#sql/process/token_keys.ts'

const FIRST = 1
const KEY_BYTES = 32

export type ReadTokenKeys = () => Promise<TokenKeys>

/** Reads the keys of tokens once, and makes the first one if there is none. A failure is not remembered. */
export function createReadTokenKeys(dependencies: { pool: Pool; secrets: Secrets }): ReadTokenKeys {
  let keys: Promise<TokenKeys> | null = null
  return () => {
    keys ??= readTokenKeys(dependencies).catch(error => {
      keys = null
      throw error
    })
    return keys
  }
}

async function readTokenKeys({ pool, secrets }: { pool: Pool; secrets: Secrets }): Promise<TokenKeys> {
  let rows = await listTokenKeys(pool)
  if (rows.length === 0) {
    await insertTokenKey(pool, { kid: FIRST, key: secrets.seal(randomBytes(KEY_BYTES), tokenKeyContext(FIRST)) })
    rows = await listTokenKeys(pool)
  }
  return new TokenKeys(rows.map(({ kid, key }) => ({ kid, key: secrets.open(key, tokenKeyContext(kid)) })))
}

/** The place that a key is sealed for, so that it opens in no other. */
export function tokenKeyContext(kid: number): string {
  return `token_keys|key|${kid}|`
}
