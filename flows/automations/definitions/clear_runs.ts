import {
  addClearJob,
  type Clearing,
  deleteClearing,
  deleteRuns,
  endRuns,
  hasClearings,
  hasRuns,
  hasStoppedRuns,
  lockClearing,
  moveClearing,
} from '#sql/automations/definitions/clear_runs.ts'
import { deleteAnswers, deleteAutomationPolls } from '#sql/polls/asked_polls.ts'
import type { Pool, Tx } from '#sql/pool.ts'

/** Rows per commit. Deleting a run also deletes its steps. */
const ENDED = 5_000
const DELETED = 1_000

/** Seconds until runs that another transaction has locked are looked at again. */
const HELD_SECONDS = 2

/**
 * Marks the runs of stopped automations as skipped, and deletes the runs and polls of deleted automations. Works in
 * slices, one automation after another. If a worker dies, the rest stays in automation_clearings for the next one.
 */
export async function clearRuns(pool: Pool): Promise<void> {
  while (await pool.transaction(clearSlice));
  if (await hasClearings(pool)) await addClearJob(pool, HELD_SECONDS)
}

/** Returns false if there is nothing to do at the moment. */
async function clearSlice(tx: Tx): Promise<boolean> {
  const clearing = await lockClearing(tx)
  if (!clearing) return false
  if (await isFullSlice(tx, clearing)) await moveClearing(tx, clearing, 0)
  else if (await isLeft(tx, clearing)) await moveClearing(tx, clearing, HELD_SECONDS)
  else await endClearing(tx, clearing)
  return true
}

async function isFullSlice(tx: Tx, { stopped_version, ...automation }: Clearing): Promise<boolean> {
  if (stopped_version === null) {
    const asker = { account_id: automation.account_id, automation_id: automation.id }
    return (
      (await deleteRuns(tx, automation, DELETED)) === DELETED || (await deleteAnswers(tx, asker, DELETED)) === DELETED
    )
  }
  return (await endRuns(tx, { ...automation, stopped_version }, ENDED)) === ENDED
}

async function endClearing(tx: Tx, { stopped_version, ...automation }: Clearing): Promise<void> {
  if (stopped_version === null) await deleteAutomationPolls(tx, automation.account_id, automation.id)
  await deleteClearing(tx, automation)
}

async function isLeft(tx: Tx, { stopped_version, ...automation }: Clearing): Promise<boolean> {
  if (stopped_version === null) return hasRuns(tx, automation)
  return hasStoppedRuns(tx, { ...automation, stopped_version })
}
