import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Secrets } from '#lib/secrets.ts'
import { TokenKeys } from '#lib/token_keys.ts'
import type { Pool } from '#sql/pool.ts'
import { insertTokenKey, listTokenKeys } from '#sql/process/token_keys.ts'

const FIRST = 1
const KEY_BYTES = 32

/**
 * Keys older than this are read again. This is shorter than the time that a new key waits before it signs
 * (sql/process/token_keys.ts).
 */
const FRESH_MS = 60_000

/** Keys read longer ago than this are not used before they are read again: a newer one may sign already. */
const OLD_MS = 300_000

export type ReadTokenKeys = () => Promise<TokenKeys>

/**
 * Reads the keys of tokens, and creates the first one if there is none. While in use, they are read again each minute,
 * so that every process knows a new key before any process signs with it. Callers do not wait for that, unless the keys
 * are old. If it fails, the earlier keys are used.
 */
export function createReadTokenKeys(
  dependencies: { pool: Pool; secrets: Secrets },
  fresh_ms: number = FRESH_MS,
  old_ms: number = OLD_MS,
): ReadTokenKeys {
  let read_at = Number.NEGATIVE_INFINITY
  const cache = new LRUCache<'keys', TokenKeys>({
    max: 1,
    ttl: fresh_ms,
    allowStaleOnFetchRejection: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: async () => {
      const keys = await readTokenKeys(dependencies)
      read_at = performance.now()
      return keys
    },
  })
  return () => cache.forceFetch('keys', { allowStale: performance.now() < read_at + old_ms })
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
 * Creates another key of tokens, which signs links ten minutes later. Links that were signed with older keys stay
 * valid. Returns its kid.
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

/** Returns the context that a key is sealed with: it names the row, so that the key cannot be opened in another. */
export function tokenKeyContext(kid: number): string {
  return `token_keys|key|${kid}|`
}
