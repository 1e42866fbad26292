import { announce } from '#flows/webhooks/announce.ts'
import { endImport } from '#sql/contacts/import/leases.ts'
import { clearStage, dropStage } from '#sql/contacts/import/staging.ts'
import { blockDomainDeletion } from '#sql/domains/domains.ts'
import { addJob } from '#sql/jobs.ts'
import type { Pool } from '#sql/pool.ts'
import { type Merged, mergeRows } from './merge_rows.ts'
import { showImport } from './show_import.ts'
import { type Leased, type Services, stageFile } from './stage_file.ts'
import { StageProgress } from './stage_progress.ts'

/**
 * Imports a file: stages its rows if necessary, merges them meanwhile, and announces the end. Continues where another
 * worker stopped.
 *
 * @throws {LostLeaseError} @throws the reason of `stopping`
 */
export async function runImport(services: Services, leased: Leased, stopping: AbortSignal): Promise<void> {
  const { pool } = services
  let isStaged = leased.records !== null
  for (;;) {
    const merged = isStaged
      ? await mergeRows(pool, leased, stopping, null)
      : await stageAndMerge(services, leased, stopping)
    // The staged rows are lost if Postgres crashes, since their table is unlogged.
    isStaged = false
    if (merged === 'unstaged') continue
    return endRun(pool, leased, merged === 'orphaned' ? 'The domain was deleted.' : null)
  }
}

/** Stages and merges at the same time. If either ends early or fails, it ends the other. */
async function stageAndMerge(services: Services, leased: Leased, stopping: AbortSignal): Promise<Merged> {
  const { pool } = services
  await clearStage(pool, leased)
  const end = new AbortController()
  const ending = AbortSignal.any([stopping, end.signal])
  const progress = new StageProgress()
  // Staging and merging wait for each other, so both must check the signal again.
  ending.addEventListener('abort', () => progress.stop(), { once: true })
  const staging = stageFile(services, leased, ending, progress).catch(error => end.abort(error))
  try {
    return await mergeRows(pool, leased, ending, progress)
  } finally {
    end.abort()
    await staging
  }
}

/**
 * Ends an import. Deletes the staged rows first: a worker that takes over an unfinished import then finds none and ends
 * it. If its domain was deleted, the job that removes the rest of the domain has left it out, and runs again.
 */
export async function endRun(pool: Pool, leased: Leased, error: string | null): Promise<void> {
  const { account_id, id, domain_id } = leased
  await dropStage(pool, id)
  await pool.transaction(async tx => {
    const hasDomain = await blockDomainDeletion(tx, account_id, domain_id)
    if (!(await endImport(tx, leased, error))) return
    if (!hasDomain) await addJob(tx, 'remove_leftovers', { account_id, of: 'domain', id: domain_id })
    const data = async () => (await showImport(tx, account_id, id)) as object
    await announce(tx, [{ account_id, type: 'contact_import.completed', data }])
  })
}
