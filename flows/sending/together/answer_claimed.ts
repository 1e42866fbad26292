import { newId } from '#lib/ids.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { claimKey, extendClaim, findBoundAnswer, releaseClaim } from '#sql/sending/idempotency_keys.ts'
import { answerOnce, type Once } from '../answer_once.ts'
import type { RequestKey } from '../draft_emails.ts'
import { concurrent, keyConflict } from '../errors.ts'

/** Time after which the claim of a process that has died ends, and how often a process extends its claims. */
const LEASE = { seconds: 40, extend_ms: 10_000 }

/**
 * As `answerOnce`, with work before the transaction that must not be done twice either: the key is claimed before it, for
 * all processes. Meanwhile, other requests with the key are refused. Without a key, nothing is claimed.
 *
 * @throws {ApiError} `invalid_idempotent_request`; `concurrent_idempotent_requests`; the errors of the work
 */
export async function answerClaimed<Answer extends object>(
  pool: Pool,
  account_id: string,
  key: RequestKey | null,
  prepare: () => Promise<(tx: Tx) => Promise<Answer>>,
): Promise<Once<Answer>> {
  if (key === null) return answerOnce(pool, account_id, null, await prepare())
  const claim = { account_id, ...key, owner: newId() }
  const known = await pool.transaction(tx => claimOrFind(tx, claim))
  if (known !== null) return { answer: JSON.parse(known) as Answer, replayed: true }
  // If it fails, the next one may succeed; if none does, the claim ends.
  const timer = setInterval(() => extendClaim(pool, claim).catch(() => {}), LEASE.extend_ms)
  try {
    const act = await prepare()
    return await answerOnce(pool, account_id, key, async tx => {
      const answer = await act(tx)
      await releaseClaim(tx, claim)
      return answer
    })
  } catch (error) {
    // A failure does not use up the key. If this fails too, the claim ends by itself.
    await releaseClaim(pool, claim).catch(() => {})
    throw error
  } finally {
    clearInterval(timer)
  }
}

/** Returns the answer that the key is bound to, or null once it is claimed. */
async function claimOrFind(tx: Tx, claim: RequestKey & { account_id: string; owner: string }): Promise<string | null> {
  const holder = await claimKey(tx, claim, LEASE.seconds)
  // A request that ends binds its key and releases its claim in one transaction, so this is read after the claim.
  const bound = await findBoundAnswer(tx, claim.account_id, claim)
  if ((bound ?? holder ?? claim).fingerprint !== claim.fingerprint) throw keyConflict()
  if (!bound && holder) throw concurrent()
  if (bound && !holder) await releaseClaim(tx, claim)
  return bound?.answer ?? null
}
