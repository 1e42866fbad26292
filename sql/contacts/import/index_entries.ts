import { type Queryable, sql } from '#sql/pool.ts'

/** Longest wait for a vacuum that does the same work. */
const WAIT_MS = 500

/**
 * Moves recently added contacts from GIN's pending lists, to which inserts only append, into the indexes. No insert
 * waits for it. Slices of imports rely on it (merge_import_slice.sql). Throws SQLSTATE 55P03 if another process is
 * doing it.
 */
export async function flushPendingEntries(db: Queryable): Promise<void> {
  await db.run(sql.unsafe`
    SELECT gin_clean_pending_list('contacts_email'), gin_clean_pending_list('contacts_properties')
    FROM set_config('lock_timeout', ${String(WAIT_MS)}, true)
  `)
}
