import type { Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { type BatchId, closeBatch, listOverdueBatches, storeBatchSlice } from '#sql/sending/batches.ts'

/**
 * Stores a batch slice by slice, one commit each, until all of it is stored or its deadline has passed. Two that do so at
 * the same moment take turns, and none stores anything twice.
 */
export async function processBatch(pool: Pool, batch: BatchId): Promise<void> {
  while (await retryConflicts(() => storeBatchSlice(pool, batch)));
}

const OVERDUE = 100

/** Closes batches whose request nobody waits for any more, so that their quota is given back. */
export async function sweepBatches(pool: Pool): Promise<void> {
  const failures: unknown[] = []
  for (const batch of await listOverdueBatches(pool, OVERDUE)) {
    // One that cannot be closed now would keep all later ones open.
    await closeBatch(pool, batch).catch(error => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} batches could not be closed`)
}
