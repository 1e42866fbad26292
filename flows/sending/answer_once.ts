import type { Pool, Tx } from '#sql/pool.ts'
import { bindKey, findBoundAnswer, lockKey } from '#sql/sending/idempotency_keys.ts'
import type { RequestKey } from './draft_emails.ts'
import { concurrent, keyConflict } from './errors.ts'

/** `replayed`: the answer is that of an earlier request with the same key. */
export type Once<Answer> = { answer: Answer; replayed: boolean }

/**
 * Runs `act` in one commit, and only once per key: a repeated request gets the answer of the first (contract 1.3). A
 * failure does not use up the key. Emails are handled differently, in shared commits (accept_emails.sql).
 *
 * @throws {ApiError} `invalid_idempotent_request`; `concurrent_idempotent_requests`; the errors of `act`
 */
export async function answerOnce<Answer extends object>(
  pool: Pool,
  account_id: string,
  key: RequestKey | null,
  act: (tx: Tx) => Promise<Answer>,
): Promise<Once<Answer>> {
  return pool.transaction(async tx => {
    if (key === null) return { answer: await act(tx), replayed: false }
    const known = await findAnswer<Answer>(tx, account_id, key)
    if (known) return { answer: known, replayed: true }
    const answer = await act(tx)
    await bindKey(tx, account_id, key, JSON.stringify(answer))
    return { answer, replayed: false }
  })
}

/**
 * Takes a key until the transaction ends, and returns the answer that it is bound to, or null.
 *
 * @throws {ApiError} `invalid_idempotent_request`; `concurrent_idempotent_requests`
 */
export async function findAnswer<Answer extends object>(
  tx: Tx,
  account_id: string,
  key: RequestKey,
): Promise<Answer | null> {
  if (!(await lockKey(tx, account_id, key))) throw concurrent()
  const bound = await findBoundAnswer(tx, account_id, key)
  if (bound && bound.fingerprint !== key.fingerprint) throw keyConflict()
  return bound && (JSON.parse(bound.answer) as Answer)
}
