import { type AskedPoll, storeAnswer } from '#sql/polls/asked_polls.ts'
import type { Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'

/** One recipient of an email, by its delivery. */
type Recipient = { account_id: string; delivery_id: string }

/**
 * Stores the answer of a recipient in one commit with figures and webhook events; a later answer replaces an earlier
 * one. Returns the poll with the answer; null if the poll or its email no longer exists. The poll of a test email
 * stores no answer.
 */
export async function answerPoll(
  pool: Pool,
  recipient: Recipient,
  asked: AskedPoll,
  option: string,
): Promise<AskedPoll | null> {
  if (asked.is_test) return asked
  const isStored = await retryConflicts(() => storeAnswer(pool, recipient, option))
  return isStored ? { ...asked, answer: option } : null
}
