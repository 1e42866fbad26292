import { processBatch } from '#flows/sending/process_batch.ts'
import type { Task } from './task.ts'

/** Stores the emails of a batch. The request that opened the batch waits for this job. */
export const process_batch: Task<'process_batch'> = async ({ account_id, batch_id }, work) => {
  await processBatch(work.pool, { account_id, id: batch_id })
}
