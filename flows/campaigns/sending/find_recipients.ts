import { loadAddressed } from '#sql/campaigns/addressed.ts'
import { countCampaign } from '#sql/campaigns/counts.ts'
import { insertRecipients, updateCursor } from '#sql/campaigns/sending/recipients.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'
import { dueTimesAhead } from './local_due_times.ts'

/** Contacts per commit. */
const SLICE = 5_000

/**
 * Stores the next recipients of a run and its cursor; the row of the run must be locked. Returns false if its segment
 * or topic no longer exists.
 */
export async function findRecipients(tx: Tx, run: Run, simulator_domain: string, slice = SLICE): Promise<boolean> {
  // Mail in local time is sent hours later, so the limit of recent mail is checked only then.
  const looked_for = run.send_in_local_time ? { ...run, skip_if_mailed_within_hours: null } : run
  const addressed = await loadAddressed(tx, run.account_id, looked_for, simulator_domain)
  if (!addressed) return false
  const times = await dueTimesAhead(tx, run, slice)
  const { last, looked, inserted, excluded } = await insertRecipients(tx, run, addressed, times, slice)
  await countCampaign(tx, run, [
    { variant: 0, name: 'recipients', by: inserted },
    { variant: 0, name: 'excluded', by: excluded },
  ])
  await updateCursor(tx, run, last, looked < slice)
  return true
}
