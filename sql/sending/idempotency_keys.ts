import { type Queryable, sql } from '#sql/pool.ts'

/** Deletes the keys that are past their lifetime (sql/sending/key_lifetime.sql). Returns how many. */
export async function deleteExpiredKeys(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`DELETE FROM idempotency_keys WHERE created_at < now() - key_lifetime()`)
}
