import { HourlyCap, RECIPIENT_CAP } from '#lib/async/fair/hourly_cap.ts'
import { OneAtATime } from '#lib/async/fair/one_at_a_time.ts'
import { type AskedPoll, storeAnswer } from '#sql/polls/asked_polls.ts'
import type { Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'

/** One recipient of an email, by its delivery. */
type Recipient = { account_id: string; delivery_id: string }

/** Answers per recipient. */
const answers = new HourlyCap(RECIPIENT_CAP)

/** Answers wait for the row of their recipient here, so that many clicks of one person do not take all connections. */
const turns = new OneAtATime()

/** `is_limited`: the recipient changed the answer too often to do so again. */
export type AnsweredPoll = { poll: AskedPoll; is_limited: boolean }

/**
 * Stores the answer of a recipient in one commit with figures and webhook events; a later answer replaces an earlier
 * one. Returns the poll with the answer that is stored; null if the poll or its email no longer exists. The poll of a test
 * email stores no answer, and that of a recipient who has changed it 1,000 times within an hour keeps it.
 */
export async function answerPoll(
  pool: Pool,
  recipient: Recipient,
  asked: AskedPoll,
  option: string,
): Promise<AnsweredPoll | null> {
  const isChange = asked.answer !== null && asked.answer !== option
  const is_limited = isChange && answers.isReached(recipient.delivery_id)
  if (asked.is_test || is_limited) return { poll: asked, is_limited }
  const isStored = await turns.run(recipient.delivery_id, () =>
    retryConflicts(() => storeAnswer(pool, recipient, option)),
  )
  if (isChange) answers.add(recipient.delivery_id)
  return isStored ? { poll: { ...asked, answer: option }, is_limited } : null
}
