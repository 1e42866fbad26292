import type { Queryable } from '#sql/pool.ts'
import { type Draft, insertEmails } from '#sql/sending/accept/drafts.ts'
import type { Fault, FaultDetail } from '#sql/sending/accept/faults.ts'

export type AcceptedEmail = { id: string; replayed: boolean }

/** The reason why a draft is not stored. `key_conflict`: its key was used with another request. */
export type RefusedEmail = { fault: Fault | 'key_conflict'; detail: FaultDetail }

/**
 * Accepts drafts in the transaction of `db`, in one statement for all of them, of any number and accounts: each is
 * stored with its deliveries and debited, or has a fault and leaves nothing behind. The results are in the order of the
 * drafts.
 *
 * For callers that store more in the same transaction; all others call `sendEmail`. At most a thousand drafts at a
 * time: these take a third of a second, and with quotas the time grows more than linearly.
 */
export async function acceptEmails(db: Queryable, drafts: Draft[]): Promise<(AcceptedEmail | RefusedEmail)[]> {
  const rows = await insertEmails(db, drafts)
  return rows.map(({ outcome, answer, retry_after, detail }) => {
    if (outcome !== 'accepted' && outcome !== 'replayed') return { fault: outcome, detail: { retry_after, ...detail } }
    return { id: (answer as { id: string }).id, replayed: outcome === 'replayed' }
  })
}
