import { releaseDeliveries } from '#sql/safety/pauses.ts'
import type { Task } from './task.ts'

/** Of one commit: what is locked meanwhile cannot be canceled. */
const BATCH = 5_000

/** Makes due what waits for a pause that is over: after each resume, and by the clock, for what a resume has missed. */
export const release_deliveries: Task<'release_deliveries'> = async (_payload, work) => {
  let count = 0
  for (let released = BATCH; released === BATCH; count += released) {
    released = await releaseDeliveries(work.pool, BATCH)
  }
  if (count > 0) work.log.info({ count }, 'mail that waited for a pause goes on')
}
