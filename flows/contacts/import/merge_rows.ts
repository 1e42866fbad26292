import { setTimeout as sleep } from 'node:timers/promises'
import { extendImportLeases, noteRecords } from '#sql/contacts/import/leases.ts'
import { type MergedSlices, mergeSlices } from '#sql/contacts/import/merge_slices.ts'
import { LostLeaseError } from '#sql/contacts/import/staging.ts'
import type { Pool } from '#sql/pool.ts'
import { isLockTimeout, retryConflicts } from '#sql/retry.ts'
import { IndexEntries } from './index_entries.ts'
import type { Leased } from './stage_file.ts'
import type { StageProgress } from './stage_progress.ts'

const LIMITS = {
  /** Maximum number of records per slice. Most slices end earlier, by time (merge_import_slice.sql). */
  slice: 4_000,
  /** How long Postgres merges slices before it responds. Progress, leases and a stop wait for it. */
  within_ms: 250,
}

/** While a slice waits for the lock, others wait behind it. So it gives up soon and lets them pass before it retries. */
const WAIT_MS = 50
const PAUSE_MS = 30
/** If there is always one that holds the lock for longer, a slice waits longer, but for less than the 2 s of others. */
const PATIENCE_MS = 2_000
const LONG_WAIT_MS = 1_500

/** `unstaged`: staged rows are missing. `orphaned`: the domain was deleted. */
export type Merged = 'done' | 'unstaged' | 'orphaned'

/**
 * Merges the staged rows of an import, and waits for rows that are still being staged.
 *
 * @param progress null if all rows are staged
 * @throws {LostLeaseError} @throws the reason of `stopping`
 */
export async function mergeRows(
  pool: Pool,
  leased: Leased,
  stopping: AbortSignal,
  progress: StageProgress | null,
): Promise<Merged> {
  const entries = new IndexEntries(pool)
  let extended_at = performance.now()
  let merged_at = performance.now()
  for (let merged = leased.merged_through; ; ) {
    stopping.throwIfAborted()
    const chunks = progress?.chunks ?? 0
    // The row of the import is updated here, between slices, because each slice locks it.
    const file = progress?.takeEnd()
    if (file) await noteRecords(pool, leased, file)
    if (performance.now() - extended_at > (leased.seconds * 1_000) / 3) {
      await extendImportLeases(pool, [leased], leased.seconds)
      extended_at = performance.now()
    }
    const wait_ms = performance.now() - merged_at > PATIENCE_MS ? LONG_WAIT_MS : WAIT_MS
    const next = await mergeNext(pool, leased, wait_ms)
    if (!next) continue
    const { outcome, through } = next
    progress?.merge(through)
    switch (outcome) {
      case 'merged':
        await entries.add(through - merged)
        merged = through
        break
      case 'ahead':
        // Nobody is staging rows, so the missing ones were lost.
        if (!progress) return 'unstaged'
        await progress.wait(chunks)
        break
      case 'lost':
        throw new LostLeaseError(`another worker has taken over the import ${leased.id}`)
      default:
        await entries.end()
        return outcome
    }
    merged_at = performance.now()
  }
}

/** Returns null, after a pause, if others have held the lock for as long as it waits. */
async function mergeNext(pool: Pool, leased: Leased, wait_ms: number): Promise<MergedSlices | null> {
  try {
    return await retryConflicts(() => mergeSlices(pool, leased, { ...LIMITS, wait_ms }))
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  }
  await sleep(PAUSE_MS * (0.5 + Math.random()))
  return null
}
