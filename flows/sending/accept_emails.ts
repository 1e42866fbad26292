import type { Queryable } from '#sql/pool.ts'
import { type Draft, insertEmails } from '#sql/sending/accept/drafts.ts'
import type { Fault, FaultDetail } from '#sql/sending/accept/faults.ts'

export type AcceptedEmail = { id: string; replayed: boolean }

/** Why a draft is not stored; `key_conflict`: its key was used with another request. */
export type RefusedEmail = { fault: Fault | 'key_conflict'; detail: FaultDetail }

/**
 * Accepts drafts in the transaction of `db`, in one statement for all of them, whatever their number and accounts: each is
 * stored with its deliveries and debited, or has its fault and leaves nothing. The result has the order of the drafts.
 *
 * For callers that store more in the same transaction. All others call `sendEmail`. At most a thousand at a time: that
 * takes a third of a second, and with quotas more take longer than in proportion.
 */
export async function acceptEmails(db: Queryable, drafts: Draft[]): Promise<(AcceptedEmail | RefusedEmail)[]> {
  const rows = await insertEmails(db, drafts)
  return rows.map(({ outcome, answer, retry_after, detail }) => {
    if (outcome !== 'accepted' && outcome !== 'replayed') return { fault: outcome, detail: { retry_after, ...detail } }
    return { id: (answer as { id: string }).id, replayed: outcome === 'replayed' }
  })
}
