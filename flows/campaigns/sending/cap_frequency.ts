import { lockUsage } from '#sql/accounts/usage.ts'
import { hasCap } from '#sql/campaigns/frequency_cap.ts'
import { type Capped, listCapped, lockEngagement } from '#sql/campaigns/sending/mailed_contacts.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'

/**
 * Returns which contacts the frequency cap of a run leaves out now, by id. Until the transaction ends no other campaign stores an
 * email to any of them: of two at the same moment, the second sees the email of the first.
 */
export async function findCapped(tx: Tx, run: Run, contact_ids: string[]): Promise<Map<string, Capped['reason']>> {
  if (!hasCap(run) || contact_ids.length === 0) return new Map()
  // Before anything else, as accepting emails does: others hold it while they wait for contacts.
  await lockUsage(tx, run.account_id)
  await lockEngagement(tx, run.account_id, contact_ids)
  const capped = await listCapped(tx, run.account_id, contact_ids, run)
  return new Map(capped.map(({ contact_id, reason }) => [contact_id, reason]))
}
