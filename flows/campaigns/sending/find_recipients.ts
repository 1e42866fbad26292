import { loadAddressed } from '#sql/campaigns/addressed.ts'
import { countCampaign } from '#sql/campaigns/counts.ts'
import { insertRecipients, updateCursor } from '#sql/campaigns/sending/recipients.ts'
import type { Run } from '#sql/campaigns/sending/runs.ts'
import type { Tx } from '#sql/pool.ts'

/** Contacts that one commit looks at. */
const SLICE = 5_000

/**
 * Stores the next recipients of a run, whose row is locked, with its cursor. Returns false if its segment or topic does not
 * exist any more.
 */
export async function findRecipients(tx: Tx, run: Run, simulator_domain: string, slice = SLICE): Promise<boolean> {
  const addressed = await loadAddressed(tx, run.account_id, run, simulator_domain)
  if (!addressed) return false
  const { last, looked, inserted, excluded } = await insertRecipients(tx, run, addressed, slice)
  await countCampaign(tx, run, [
    { variant: 0, name: 'recipients', by: inserted },
    { variant: 0, name: 'excluded', by: excluded },
  ])
  await updateCursor(tx, run, last, looked < slice)
  return true
}
