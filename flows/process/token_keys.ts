import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Secrets } from '#lib/secrets.ts'
import { TokenKeys } from '#lib/token_keys.ts'
import type { Pool } from '#sql/pool.ts'
import { insertTokenKey, listTokenKeys } from '#sql/process/token_keys.ts'

const FIRST = 1
const KEY_BYTES = 32

/** Keys are read again when they are older. Shorter than a new key waits before it signs (sql/process/token_keys.ts). */
const FRESH_MS = 60_000

export type ReadTokenKeys = () => Promise<TokenKeys>

/**
 * Reads the keys of tokens, and makes the first one if there is none. They are read again each minute that they are used in,
 * so that every process knows a new key before any signs with it; nobody waits for that, and if it fails the old ones serve.
 */
export function createReadTokenKeys(
  dependencies: { pool: Pool; secrets: Secrets },
  fresh_ms: number = FRESH_MS,
): ReadTokenKeys {
  const cache = new LRUCache<'keys', TokenKeys>({
    max: 1,
    ttl: fresh_ms,
    allowStale: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: () => readTokenKeys(dependencies),
  })
  return () => cache.forceFetch('keys')
}

async function readTokenKeys({ pool, secrets }: { pool: Pool; secrets: Secrets }): Promise<TokenKeys> {
  let rows = await listTokenKeys(pool)
  if (rows.length === 0) {
    await insertTokenKey(pool, newKey(secrets, FIRST))
    rows = await listTokenKeys(pool)
  }
  const opened = rows.map(({ kid, key }) => ({ kid, key: secrets.open(key, tokenKeyContext(kid)) }))
  return new TokenKeys(opened, rows.findLast(({ is_known }) => is_known)?.kid ?? rows[0]?.kid)
}

/**
 * Makes another key of tokens, which signs links from ten minutes later on. Links that were signed with older keys stay good.
 * Returns its kid.
 */
export async function addTokenKey({ pool, secrets }: { pool: Pool; secrets: Secrets }): Promise<number> {
  const { kids } = await readTokenKeys({ pool, secrets })
  const kid = Math.max(...kids) + 1
  await insertTokenKey(pool, newKey(secrets, kid))
  return kid
}

function newKey(secrets: Secrets, kid: number) {
  return { kid, key: secrets.seal(randomBytes(KEY_BYTES), tokenKeyContext(kid)) }
}

/** The place that a key is sealed for, so that it opens in no other. */
export function tokenKeyContext(kid: number): string {
  return `token_keys|key|${kid}|`
}
