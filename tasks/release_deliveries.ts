import { releaseDeliveries } from '#sql/safety/pauses.ts'
import type { Task } from './task.ts'

/** Maximum number of deliveries of one transaction: while they are locked, they cannot be canceled. */
const BATCH = 5_000

/** Makes deliveries due whose pause is over. Runs after each resume, and every 5 minutes for those it missed. */
export const release_deliveries: Task<'release_deliveries'> = async (_payload, work) => {
  let count = 0
  for (let released = BATCH; released === BATCH; count += released) {
    released = await releaseDeliveries(work.pool, BATCH)
  }
  if (count > 0) work.log.info({ count }, 'deliveries that a pause had held back are due again')
}
