import { addEd25519Keys, forgetRetiredKeys, rotateDkimKeys } from '#flows/domains/rotate_dkim_keys.ts'
import { listDomainsToRotate } from '#sql/domains/dkim_rotation.ts'
import type { Task } from './task.ts'

/** Of one run: keys of RSA take a tenth of a second to make. */
const BATCH = 100

/** Forgets keys that signed nothing for long, and gives new ones to domains that have theirs for too long. */
export const rotate_dkim_keys: Task<'rotate_dkim_keys'> = async (_payload, work) => {
  const { pool, config, log } = work
  const forgotten = await forgetRetiredKeys(work)
  const added = await addEd25519Keys(work, BATCH)
  const days = config.DKIM_ROTATE_DAYS
  const due = days === 0 ? [] : await listDomainsToRotate(pool, days, BATCH)
  for (const owner of due) await rotateDkimKeys(work, owner, 'operator')
  const counts = { forgotten, added, staged: due.length }
  if (Object.values(counts).some(count => count > 0)) log.info(counts, 'DKIM keys were changed')
}
