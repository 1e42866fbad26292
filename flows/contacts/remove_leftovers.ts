import type { JobPayload } from '#lib/jobs.ts'
import { deleteImportOfDomain } from '#sql/contacts/import/delete_imports.ts'
import {
  deleteContactsOfDomain,
  deleteCounts,
  deleteEventsOfDomain,
  deleteHashesOfDomain,
  deleteMembers,
  deleteProperty,
  deleteStrayCounts,
  removeValues,
} from '#sql/contacts/leftovers.ts'
import type { Pool } from '#sql/pool.ts'

/** Rows per statement: few enough that nobody waits long for a lock. */
const SLICE = 1_000
/** The same for records of imports, for which nobody waits, and for events, most of which are of other domains. */
const ERRORS = 10_000
const EVENTS = 10_000

/**
 * Removes the rest of a deleted domain, audience, segment, topic or property, which may affect millions of contacts.
 * May run twice; sends no webhook events.
 */
export async function removeLeftovers(pool: Pool, { of, ...deleted }: JobPayload<'remove_leftovers'>): Promise<void> {
  switch (of) {
    case 'domain':
      await inSlices(() => deleteContactsOfDomain(pool, deleted, SLICE))
      await walk(last => deleteEventsOfDomain(pool, deleted, last, EVENTS))
      await inSlices(() => deleteHashesOfDomain(pool, 'optouts', deleted, SLICE))
      await inSlices(() => deleteHashesOfDomain(pool, 'consents', deleted, SLICE))
      await inSlices(() => deleteHashesOfDomain(pool, 'former', deleted, SLICE))
      while (await deleteImportOfDomain(pool, deleted, ERRORS));
      return deleteStrayCounts(pool, deleted.account_id)
    case 'audience':
      await inSlices(() => deleteMembers(pool, of, deleted, SLICE))
      return deleteCounts(pool, deleted)
    case 'segment':
    case 'topic':
      return inSlices(() => deleteMembers(pool, of, deleted, SLICE))
    case 'property':
      await walk(last => removeValues(pool, deleted, last, SLICE))
      return deleteProperty(pool, deleted)
  }
}

/** Ends with an empty slice: one that is not full may have had rows that another transaction deleted first. */
async function inSlices(remove: () => Promise<number>): Promise<void> {
  while ((await remove()) > 0);
}

/** Calls a function with the end of the slice before, until there are no more rows. */
async function walk(remove: (last: string | null) => Promise<string | null>): Promise<void> {
  for (let last: string | null = null; ; ) {
    last = await remove(last)
    if (last === null) return
  }
}
