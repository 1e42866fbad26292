import type { JobPayload } from '#lib/jobs.ts'
import {
  type Deleted,
  deleteConsentsOfDomain,
  deleteContactsOfDomain,
  deleteCounts,
  deleteImportsOfDomain,
  deleteMembers,
  deleteProperty,
  removeValues,
} from '#sql/contacts/leftovers.ts'
import type { Pool } from '#sql/pool.ts'

/** Rows per statement: few enough that nobody waits long for a lock. */
const SLICE = 1_000

/**
 * Removes the rest of a deleted domain, audience, segment, topic or property, which may affect millions of contacts.
 * May run twice; sends no webhook events.
 */
export async function removeLeftovers(pool: Pool, { of, ...deleted }: JobPayload<'remove_leftovers'>): Promise<void> {
  switch (of) {
    case 'domain':
      await inSlices(() => deleteContactsOfDomain(pool, deleted, SLICE))
      await deleteConsentsOfDomain(pool, deleted)
      await inSlices(() => deleteImportsOfDomain(pool, deleted, SLICE))
      return deleteCounts(pool, deleted)
    case 'audience':
      await inSlices(() => deleteMembers(pool, of, deleted, SLICE))
      return deleteCounts(pool, deleted)
    case 'segment':
    case 'topic':
      return inSlices(() => deleteMembers(pool, of, deleted, SLICE))
    case 'property':
      await removeAllValues(pool, deleted)
      return deleteProperty(pool, deleted)
  }
}

async function inSlices(remove: () => Promise<number>): Promise<void> {
  while ((await remove()) === SLICE);
}

async function removeAllValues(pool: Pool, deleted: Deleted): Promise<void> {
  for (let last: string | null = null; ; ) {
    last = await removeValues(pool, deleted, last, SLICE)
    if (last === null) return
  }
}
