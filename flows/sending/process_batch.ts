import type { Pool } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import { type BatchId, closeBatch, listOverdueBatches, storeBatchSlice } from '#sql/sending/batches.ts'

/**
 * Stores a batch slice by slice, one commit each, until all of it is stored or its deadline has passed. Concurrent
 * calls take turns, and nothing is stored twice.
 */
export async function processBatch(pool: Pool, batch: BatchId): Promise<void> {
  while (await retryConflicts(() => storeBatchSlice(pool, batch)));
}

const OVERDUE = 100

/** Closes batches whose deadline has passed, so that their quota is refunded. */
export async function sweepBatches(pool: Pool): Promise<void> {
  const failures: unknown[] = []
  for (const batch of await listOverdueBatches(pool, OVERDUE)) {
    // A batch that cannot be closed now must not keep later ones open.
    await closeBatch(pool, batch).catch(error => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} batches could not be closed`)
}
