import { addEd25519Keys, purgeRetiredKeys, rotateDkimKeys } from '#flows/domains/rotate_dkim_keys.ts'
import { listDomainsToRotate } from '#sql/domains/dkim_rotation.ts'
import type { Task } from './task.ts'

/** Maximum number of domains of one run, since creating an RSA key takes a tenth of a second. */
const BATCH = 100

/** Deletes keys that have not been used for long, and creates new ones for domains whose keys are too old. */
export const rotate_dkim_keys: Task<'rotate_dkim_keys'> = async (_payload, work) => {
  const { pool, config, log } = work
  const forgotten = await purgeRetiredKeys(work)
  const added = await addEd25519Keys(work, BATCH)
  const days = config.DKIM_ROTATE_DAYS
  const due = days === 0 ? [] : await listDomainsToRotate(pool, days, BATCH)
  for (const owner of due) await rotateDkimKeys(work, owner, 'operator')
  const counts = { forgotten, added, staged: due.length }
  if (Object.values(counts).some(count => count > 0)) log.info(counts, 'DKIM keys were changed')
}
