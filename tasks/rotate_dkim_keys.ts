import { makeDkimKey } from '../flows/create_domain.ts'
import { rotateDkimKeys } from '../flows/rotate_dkim_keys.ts'
import { insertDkimKeys } from '../sql/dkim_keys.ts'
import { deleteRetiredKeys, listDomainsToRotate, listDomainsWithoutEd25519 } from '../sql/dkim_rotation.ts'
import type { Task } from './task.ts'

/** Of one run: keys of RSA take a tenth of a second to make. */
const BATCH = 100

/** Forgets keys that signed nothing for long, and gives new ones to domains that have theirs for too long. */
export const rotate_dkim_keys: Task<'rotate_dkim_keys'> = async (_payload, { pool, secrets, config, log }) => {
  const forgotten = await deleteRetiredKeys(pool)
  const lacking = await listDomainsWithoutEd25519(pool, BATCH)
  const keys = lacking.map(owner => makeDkimKey(secrets, owner, 'ed25519-sha256'))
  await insertDkimKeys(pool, await Promise.all(keys))
  const days = config.DKIM_ROTATE_DAYS
  const due = days === 0 ? [] : await listDomainsToRotate(pool, days, BATCH)
  for (const owner of due) await rotateDkimKeys(pool, secrets, owner, 'operator')
  const counts = { forgotten, added: lacking.length, staged: due.length }
  if (Object.values(counts).some(count => count > 0)) log.info(counts, 'DKIM keys were changed')
}
