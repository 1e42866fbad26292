import { type Queryable, sql } from '#sql/pool.ts'

/** So long it waits for a vacuum that does the same. */
const WAIT_MS = 500

/**
 * Enters the contacts that were added lately into the indexes that inserts only append them to (GIN's pending lists). No
 * insert waits for it. Slices of imports leave it to this (merge_import_slice.sql). Throws SQLSTATE 55P03 if others do it.
 */
export async function enterPending(db: Queryable): Promise<void> {
  await db.run(sql.unsafe`
    SELECT gin_clean_pending_list('contacts_email'), gin_clean_pending_list('contacts_properties')
    FROM set_config('lock_timeout', ${String(WAIT_MS)}, true)
  `)
}
