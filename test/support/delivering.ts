import type { ClaimedDelivery } from '#sql/delivery/deliveries.ts'
import { process_batch } from '#tasks/process_batch.ts'
import type { Work } from '#tasks/task.ts'
import { waitUntil } from './wait_until.ts'

/** A recipient of an email that has the same message for all. */
export const ANYBODY = { id: '00000000-0000-7000-8000-000000000000', recipient: 'anybody@y.com' }

/** A claimed delivery of an email that has the same message for all. */
export const PLAIN = {
  renderer: null,
  suppressed: false,
  unsubscribed: false,
  has_left: false,
  is_stopped: false,
  priority: 0,
  transport: null,
  is_watched: false,
  is_campaign: false,
} satisfies Partial<ClaimedDelivery>

/** Stores the batch that a request is waiting for, like a worker. */
export async function processBatch(work: Work): Promise<void> {
  const find = `SELECT account_id, id AS batch_id FROM batches WHERE state = 'open'`
  const batch = await waitUntil(async () => (await work.pool.pg.query(find)).rows[0], 'a batch is open')
  await process_batch(batch, work)
}
