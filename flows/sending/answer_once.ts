import type { Pool, Tx } from '#sql/pool.ts'
import { bindKey, findBoundAnswer, lockKey } from '#sql/sending/idempotency_keys.ts'
import type { RequestKey } from './draft_emails.ts'
import { concurrent, keyConflict } from './errors.ts'

/** `replayed`: the answer is that of an earlier request with the same key. */
export type Once<Answer> = { answer: Answer; replayed: boolean }

/**
 * Does in one commit what a request asks for, and once only if it has a key: repeated, it gets the answer of the first
 * (contract 1.3). What fails binds no key. Emails have a way of their own, which many of them share (accept_emails.sql).
 *
 * @throws {ApiError} `invalid_idempotent_request`; `concurrent_idempotent_requests`; those of `act`
 */
export async function answerOnce<Answer extends object>(
  pool: Pool,
  account_id: string,
  key: RequestKey | null,
  act: (tx: Tx) => Promise<Answer>,
): Promise<Once<Answer>> {
  return pool.transaction(async tx => {
    if (key === null) return { answer: await act(tx), replayed: false }
    if (!(await lockKey(tx, account_id, key))) throw concurrent()
    const bound = await findBoundAnswer(tx, account_id, key)
    if (bound && bound.fingerprint !== key.fingerprint) throw keyConflict()
    if (bound) return { answer: JSON.parse(bound.answer) as Answer, replayed: true }
    const answer = await act(tx)
    await bindKey(tx, account_id, key, JSON.stringify(answer))
    return { answer, replayed: false }
  })
}
