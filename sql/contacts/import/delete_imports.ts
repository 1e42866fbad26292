import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

/** Days for which an import and the list of its records that were not stored are kept after its end. */
const KEPT_DAYS = 90

/** Deletes at most `limit` records of the import that ended first, and then itself. Returns false if none has expired. */
export async function deleteExpiredImport(db: Queryable, limit: number): Promise<boolean> {
  return deleteNext(db, sql.fragment`completed_at < now() - make_interval(days => ${KEPT_DAYS})`, limit)
}

/** The same for imports into a deleted domain, whenever they have ended. */
export async function deleteImportOfDomain(
  db: Queryable,
  { account_id, id }: { account_id: string; id: string },
  limit: number,
): Promise<boolean> {
  return deleteNext(db, sql.fragment`account_id = ${account_id} AND domain_id = ${id}`, limit)
}

/** An import may have 200,000 such records. */
async function deleteNext(db: Queryable, which: FragmentSqlToken, limit: number): Promise<boolean> {
  const { found } = await db.one(sql.type(z.object({ found: z.boolean() }))`
    WITH ended AS MATERIALIZED (
      SELECT account_id, id FROM contact_imports WHERE status IN ('completed', 'failed') AND ${which}
      ORDER BY completed_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ), errors AS MATERIALIZED (
      SELECT x.account_id, x.import_id, x.n FROM ended i CROSS JOIN LATERAL (
        SELECT account_id, import_id, n FROM import_errors e
        WHERE e.account_id = i.account_id AND e.import_id = i.id ORDER BY n LIMIT ${limit}
      ) x
    ), emptied AS (
      DELETE FROM import_errors e USING errors x
      WHERE e.account_id = x.account_id AND e.import_id = x.import_id AND e.n = x.n
    ), deleted AS (
      DELETE FROM contact_imports i USING ended e
      WHERE i.account_id = e.account_id AND i.id = e.id AND (SELECT count(*) FROM errors) < ${limit}
    )
    SELECT EXISTS (SELECT FROM ended) AS found
  `)
  return found
}
