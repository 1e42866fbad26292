import { loadAddressed } from '#sql/campaigns/addressed.ts'
import { countCampaign } from '#sql/campaigns/counts.ts'
import { insertRecipients, updateCursor } from '#sql/campaigns/sending/recipients.ts'
import { type Run, setJudged } from '#sql/campaigns/sending/runs.ts'
import { goBack } from '#sql/campaigns/sending/start_over.ts'
import type { Tx } from '#sql/pool.ts'
import { definitionOf } from './definition.ts'
import { dueTimesAhead } from './local_due_times.ts'

/** Contacts per commit. */
const SLICE = 5_000

/** In place of a definition: the search goes back to its beginning. */
const GOING_BACK = -1

/**
 * Stores the next recipients of a run and its cursor; the row of the run must be locked. If its segment or its topic was changed
 * since the first slice, it deletes the recipients found so far, slice by slice, and begins again: otherwise some contacts would be
 * chosen by the old definition and the others by the new one. Returns false if the segment or the topic no longer exists.
 */
export async function findRecipients(tx: Tx, run: Run, simulator_domain: string, slice = SLICE): Promise<boolean> {
  // Mail in local time is sent hours later, so the limit of recent mail is checked only then.
  const looked_for = run.send_in_local_time ? { ...run, skip_if_mailed_within_hours: null } : run
  const addressed = await loadAddressed(tx, run.account_id, looked_for, simulator_domain)
  if (!addressed) return false
  const definition = definitionOf(addressed)
  if (run.cursor === null) await setJudged(tx, run, { ...run.judged, definition })
  // A run that the previous release began has none.
  else if ((run.judged.definition ?? definition) !== definition) {
    await startOver(tx, run, slice)
    return true
  }
  const times = await dueTimesAhead(tx, run, slice)
  const { last, looked, inserted, excluded } = await insertRecipients(tx, run, addressed, times, slice)
  await count(tx, run, inserted, excluded)
  await updateCursor(tx, run, last ?? run.cursor, looked < slice)
  return true
}

async function startOver(tx: Tx, run: Run, slice: number): Promise<void> {
  // Kept until nothing is left, so that changing the definition back meanwhile leaves no gap.
  if (run.judged.definition !== GOING_BACK) await setJudged(tx, run, { ...run.judged, definition: GOING_BACK })
  const { cursor, recipients, excluded } = await goBack(tx, run, slice)
  await count(tx, run, -recipients, -excluded)
  await updateCursor(tx, run, cursor, false)
}

async function count(tx: Tx, run: Run, recipients: number, excluded: number): Promise<void> {
  await countCampaign(tx, run, [
    { variant: 0, name: 'recipients', by: recipients },
    { variant: 0, name: 'excluded', by: excluded },
  ])
}
