import { type Queryable, sql } from '#sql/pool.ts'

/** Idempotency keys are remembered for 24 hours (contract 1.3). Answers how many were forgotten. */
export async function deleteExpiredKeys(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`DELETE FROM idempotency_keys WHERE created_at < now() - interval '24 hours'`)
}
