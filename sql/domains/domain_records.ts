import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** The result of the last check of a record. `problem`: what to fix in a record that is not verified. */
export const RecordCheck = z.object({
  name: z.string(),
  type: z.enum(['TXT', 'MX', 'CNAME']),
  status: z.enum(['pending', 'verified', 'failed', 'temporary_failure']),
  problem: z.string().nullable(),
})
export type RecordCheck = z.infer<typeof RecordCheck>

export async function listRecordChecks(db: Queryable, account_id: string, domain_id: string): Promise<RecordCheck[]> {
  return db.any(sql.type(RecordCheck)`
    SELECT name, type, status, problem FROM domain_records WHERE account_id = ${account_id} AND domain_id = ${domain_id}
  `)
}

/** Stores checks of records; a later check replaces an earlier one. */
export async function upsertRecordChecks(
  tx: Tx,
  { account_id, domain_id }: { account_id: string; domain_id: string },
  checks: RecordCheck[],
): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO domain_records (account_id, domain_id, name, type, status, problem)
    SELECT ${account_id}, ${domain_id}, c.name, c.type, c.status, c.problem
    FROM json_to_recordset(${JSON.stringify(checks)}::json) AS c(name text, type text, status text, problem text)
    ON CONFLICT (account_id, domain_id, name, type) DO UPDATE
      SET status = excluded.status, problem = excluded.problem, checked_at = excluded.checked_at
  `)
}

/** Deletes the checks of records that a domain no longer needs. */
export async function deleteStaleChecks(
  tx: Tx,
  { account_id, domain_id }: { account_id: string; domain_id: string },
  wanted: Pick<RecordCheck, 'name' | 'type'>[],
): Promise<void> {
  await tx.run(sql.unsafe`
    DELETE FROM domain_records r WHERE account_id = ${account_id} AND domain_id = ${domain_id} AND NOT EXISTS (
      SELECT FROM json_to_recordset(${JSON.stringify(wanted)}::json) AS w(name text, type text)
      WHERE w.name = r.name AND w.type = r.type
    )
  `)
}
