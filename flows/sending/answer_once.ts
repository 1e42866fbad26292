import type { Secrets } from '#lib/secrets.ts'
import type { Pool, Tx } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { bindKey, findBoundAnswer, lockKey } from '#sql/sending/idempotency_keys.ts'
import type { RequestKey } from './draft_emails.ts'
import { concurrent, keyConflict } from './errors.ts'

/** `replayed`: the answer is that of an earlier request with the same key. */
export type Once<Answer> = { answer: Answer; replayed: boolean }

/**
 * Runs `act` in one commit, and only once per key: a repeated request gets the answer of the first. A
 * failure does not use up the key. Emails are handled differently, in shared commits (accept_emails.sql).
 *
 * @param secrets given if the answer contains a secret: it is then stored sealed
 * @throws {ApiError} `invalid_idempotent_request`; `concurrent_idempotent_requests`; the errors of `act`
 */
export async function answerOnce<Answer extends object>(
  pool: Pool,
  account_id: string,
  key: RequestKey | null,
  act: (tx: Tx) => Promise<Answer>,
  secrets: Secrets | null = null,
): Promise<Once<Answer>> {
  const once = async (tx: Tx): Promise<Once<Answer>> => {
    if (key === null) return { answer: await act(tx), replayed: false }
    const known = await findAnswer<Answer>(tx, account_id, key, secrets)
    if (known) return { answer: known, replayed: true }
    const answer = await act(tx)
    const text = JSON.stringify(answer)
    await bindKey(tx, account_id, key, secrets ? sealAnswer(secrets, account_id, key, text) : text)
    return { answer, replayed: false }
  }
  return retryConflicts(() => pool.transaction(once))
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
  secrets: Secrets | null = null,
): Promise<Answer | null> {
  if (!(await lockKey(tx, account_id, key))) throw concurrent()
  const bound = await findBoundAnswer(tx, account_id, key)
  if (bound && bound.fingerprint !== key.fingerprint) throw keyConflict()
  if (!bound) return null
  return JSON.parse(secrets ? openAnswer(secrets, account_id, key, bound.answer) : bound.answer) as Answer
}

function sealAnswer(secrets: Secrets, account_id: string, key: RequestKey, answer: string): string {
  return secrets.seal(Buffer.from(answer), contextOf(account_id, key)).toString('base64')
}

function openAnswer(secrets: Secrets, account_id: string, key: RequestKey, sealed: string): string {
  return secrets.open(Buffer.from(sealed, 'base64'), contextOf(account_id, key)).toString()
}

function contextOf(account_id: string, { route, key }: RequestKey): string {
  return `idempotency_keys|answer|${route} ${key}|${account_id}`
}
