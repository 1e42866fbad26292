import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { LeasedImport } from './imports.ts'

/** The owner of a lease, and its length. */
export type Lease = { owner: string; seconds: number }

/** Leases imports without a valid lease, those of accounts with the fewest running imports first. */
export async function claimImports(db: Queryable, lease: Lease, limit: number): Promise<LeasedImport[]> {
  return db.any(sql.type(LeasedImport)`
    UPDATE contact_imports i SET status = 'in_progress', lease_owner = ${lease.owner},
      lease_until = now() + make_interval(secs => ${lease.seconds})
    FROM (
      SELECT account_id, id FROM contact_imports w
      WHERE status IN ('queued', 'in_progress') AND (lease_until > now()) IS NOT TRUE
      ORDER BY (
        SELECT count(*) FROM contact_imports o
        WHERE o.account_id = w.account_id AND o.status IN ('queued', 'in_progress') AND o.lease_until > now()
      ), id LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
    ) due
    WHERE i.account_id = due.account_id AND i.id = due.id
    RETURNING i.account_id, i.id, i.domain_id, i.blob_id, i.options, i.records, i.merged_through
  `)
}

/** An import with the owner of its lease. */
export type OwnedImport = { account_id: string; id: string; owner: string }
type Owned = OwnedImport

/**
 * Extends leases that have not expired; expired ones may have been taken over by another worker. Skips an import whose
 * slice is being merged: slices follow each other so fast that waiting could take long.
 */
export async function extendImportLeases(db: Queryable, owned: Owned[], seconds: number): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE contact_imports i SET lease_until = now() + make_interval(secs => ${seconds})
    FROM (
      SELECT w.account_id, w.id
      FROM json_to_recordset(${JSON.stringify(owned)}::json) AS g(account_id uuid, id uuid, owner uuid)
      JOIN contact_imports w ON w.account_id = g.account_id AND w.id = g.id
      WHERE w.lease_owner = g.owner AND w.lease_until > now()
      FOR NO KEY UPDATE OF w SKIP LOCKED
    ) mine
    WHERE i.account_id = mine.account_id AND i.id = mine.id
  `)
}

const isOwned = ({ account_id, id, owner }: Owned) => sql.fragment`
  account_id = ${account_id} AND id = ${id} AND lease_owner = ${owner} AND status = 'in_progress'
`

/** Gives up the lease of an import, so that the next worker can take it. */
export async function releaseImport(db: Queryable, owned: Owned): Promise<void> {
  await db.run(sql.unsafe`UPDATE contact_imports SET lease_owner = NULL, lease_until = NULL WHERE ${isOwned(owned)}`)
}

/** A file that was read completely, or as far as possible; `error`: why no more of it can be read. */
export type StagedFile = { records: number; error: string | null }

/** Stores the number of records in a file once all of them are staged. */
export async function noteRecords(db: Queryable, owned: Owned, { records, error }: StagedFile): Promise<void> {
  await db.run(sql.unsafe`UPDATE contact_imports SET records = ${records}, error = ${error} WHERE ${isOwned(owned)}`)
}

const Attempted = z.object({ attempts: z.int() })

/**
 * Counts a run that ended in an error, and returns how many have done so in a row. The lease is kept: the import is
 * retried once it has expired.
 */
export async function countAttempt(db: Queryable, owned: Owned): Promise<number> {
  const row = await db.maybeOne(sql.type(Attempted)`
    UPDATE contact_imports SET attempts = attempts + 1 WHERE ${isOwned(owned)} RETURNING attempts
  `)
  return row?.attempts ?? 0
}

/**
 * Ends an import; returns false if the owner has lost it. Its status is `failed` if there is an `error`, given or
 * stored earlier.
 */
export async function endImport(tx: Tx, owned: Owned, error: string | null): Promise<boolean> {
  const count = await tx.run(sql.unsafe`
    UPDATE contact_imports SET error = coalesce(${error}, error), completed_at = now(), blob_id = NULL, lease_owner = NULL,
      lease_until = NULL, status = CASE WHEN coalesce(${error}, error) IS NULL THEN 'completed' ELSE 'failed' END
    WHERE ${isOwned(owned)}
  `)
  return count > 0
}
