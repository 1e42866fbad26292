import { lockUsage } from '#sql/accounts/usage.ts'
import { hasCap } from '#sql/campaigns/frequency_cap.ts'
import { type Capped, listCapped, lockEngagement } from '#sql/campaigns/sending/mailed_contacts.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'

/**
 * Returns the contacts that the frequency cap of a run excludes now, by id. Until the transaction ends no other
 * campaign stores an email to any of the given contacts, so that of two simultaneous campaigns the second sees the
 * email of the first.
 */
export async function findCapped(tx: Tx, run: Run, contact_ids: string[]): Promise<Map<string, Capped['reason']>> {
  if (!hasCap(run) || contact_ids.length === 0) return new Map()
  // Locked first, as accepting emails does: other transactions hold this lock while they wait for contacts.
  await lockUsage(tx, run.account_id)
  await lockEngagement(tx, run.account_id, contact_ids)
  const capped = await listCapped(tx, run.account_id, contact_ids, run)
  return new Map(capped.map(({ contact_id, reason }) => [contact_id, reason]))
}
