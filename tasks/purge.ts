import { deleteExpiredBatches } from '../sql/batches.ts'
import { deleteExpiredKeys } from '../sql/purge.ts'
import { deleteExpiredUsage } from '../sql/usage.ts'
import type { Task } from './task.ts'

/** Forgets what is kept for a time only. */
export const purge: Task<'purge'> = async (_payload, work) => {
  const keys = await deleteExpiredKeys(work.pool)
  const batches = await deleteExpiredBatches(work.pool)
  const blobs = await work.blobs.purge()
  const usage = await deleteExpiredUsage(work.pool)
  work.log.debug({ keys, batches, blobs, usage }, 'purged')
}
