import { hashApiKey } from '#lib/api_key.ts'
import { type Caller, findCaller } from '#sql/accounts/api_keys.ts'
import type { Pool } from '#sql/pool.ts'

/** Every process refuses a revoked key within this time. The dashboard promises 5 s. */
const REMEMBER_MS = 4_000
const MAX_REMEMBERED = 10_000

type Remembered = { caller: Promise<Caller | null>; until: number; isAnswered: boolean }

/**
 * Finds the caller of an API key. A key is queried at most once per 4 s, and again once it has expired; concurrent
 * requests share one query.
 */
export function createFindCaller(pool: Pool, pepper: Buffer): (key: string) => Promise<Caller | null> {
  const known = new Map<string, Remembered>()

  const ask = (key: string): Remembered => {
    const asked_at = performance.now()
    const caller = findCaller(pool, hashApiKey(key, pepper))
    const asked = { caller, until: asked_at + REMEMBER_MS, isAnswered: false }
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(key, asked)
    const forget = () => {
      if (known.get(key) === asked) known.delete(key)
    }
    // A failure is not remembered, nor a key that does not exist (yet); a key is remembered only while it is valid.
    caller.then(found => {
      asked.isAnswered = true
      if (!found) forget()
      else asked.until = Math.min(asked.until, asked_at + (found.expires_in_ms ?? REMEMBER_MS))
    }, forget)
    return asked
  }

  /** Queries again if the key has expired during the shared query. */
  const share = async (key: string, asked: Remembered): Promise<Caller | null> => {
    const caller = await asked.caller
    return asked.until > performance.now() ? caller : ask(key).caller
  }

  return key => {
    const remembered = known.get(key)
    if (!remembered || remembered.until <= performance.now()) return ask(key).caller
    return remembered.isAnswered ? remembered.caller : share(key, remembered)
  }
}
