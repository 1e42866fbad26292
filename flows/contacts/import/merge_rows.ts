import { setTimeout as sleep } from 'node:timers/promises'
import { extendImportLeases, noteRecords } from '#sql/contacts/import/leases.ts'
import { type MergedSlice, mergeSlice } from '#sql/contacts/import/merge_slice.ts'
import { LostLeaseError } from '#sql/contacts/import/staging.ts'
import type { Pool } from '#sql/pool.ts'
import { isLockTimeout, retryConflicts } from '#sql/retry.ts'
import { IndexEntries } from './index_entries.ts'
import type { Leased } from './stage_file.ts'
import type { StageProgress } from './stage_progress.ts'

/** Records of the first slice, and of the smallest and the largest. */
const SLICE = 500
const SMALLEST = 20
const LARGEST = 2_000

/** A slice shall have the lock for so long: nobody waits for more than 100 ms. */
const HELD_MS = 50

/** While a slice waits for the lock, others wait behind it: it gives up soon, and lets them pass before it asks again. */
const WAIT_MS = 50
const PAUSE_MS = 30

/** `unstaged`: rows are missing. `orphaned`: the domain was deleted. */
export type Merged = 'done' | 'unstaged' | 'orphaned'

/**
 * Merges the staged rows of an import, and waits for those that are being staged.
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
  for (let slice = SLICE; ; ) {
    stopping.throwIfAborted()
    const chunks = progress?.chunks ?? 0
    // Changes of the row of the import are made here, between slices, each of which has it to itself.
    const file = progress?.takeEnd()
    if (file) await noteRecords(pool, leased, file)
    if (performance.now() - extended_at > (leased.seconds * 1_000) / 3) {
      await extendImportLeases(pool, [leased], leased.seconds)
      extended_at = performance.now()
    }
    const { outcome, held_ms, through } = await mergeNext(pool, leased, slice, stopping)
    progress?.merge(through)
    switch (outcome) {
      case 'merged':
        await entries.add(slice)
        slice = nextSize(slice, held_ms)
        break
      case 'ahead':
        // Without anybody who stages them there is nothing to wait for: the rows were lost.
        if (!progress) return 'unstaged'
        await progress.wait(chunks)
        break
      case 'lost':
        throw new LostLeaseError(`another worker has taken over the import ${leased.id}`)
      default:
        await entries.end()
        return outcome
    }
  }
}

async function mergeNext(pool: Pool, leased: Leased, slice: number, stopping: AbortSignal): Promise<MergedSlice> {
  for (;;) {
    try {
      return await retryConflicts(() => mergeSlice(pool, leased, slice, WAIT_MS))
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()))
    stopping.throwIfAborted()
  }
}

function nextSize(slice: number, held_ms: number): number {
  const wanted = (slice * HELD_MS) / Math.max(held_ms, 1)
  return Math.round(Math.min(Math.max(wanted, slice / 2, SMALLEST), slice * 1.5, LARGEST))
}
