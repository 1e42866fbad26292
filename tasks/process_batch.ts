import { processBatch } from '#flows/sending/process_batch.ts'
import type { Task } from './task.ts'

/** Stores the emails of a batch; the request that opened it waits for that. */
export const process_batch: Task<'process_batch'> = async ({ account_id, batch_id }, work) => {
  await processBatch(work.pool, { account_id, id: batch_id })
}
