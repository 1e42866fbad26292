import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { BlobId, BlobStoreName } from './blobs.ts'

/**
 * Selects the next `limit` blobs in the order of their keys, as `slice`, and as `unused` those of them that were not used for a
 * day and to which no email, sent or received, and no import refers.
 */
const nextUnused = (store: BlobStoreName, after: BlobId | null, limit: number) => sql.fragment`
  slice AS MATERIALIZED (
    SELECT account_id, id FROM blobs
    WHERE ${after ? sql.fragment`(account_id, id) > (${after.account_id}, ${after.id})` : sql.fragment`true`}
    ORDER BY account_id, id LIMIT ${limit}
  ), unused AS MATERIALIZED (
    SELECT u.* FROM slice s
    -- Looks up each blob by its key, also in the other tables: Postgres plans a query that locks rows by itself.
    CROSS JOIN LATERAL (
      SELECT b.account_id, b.id FROM blobs b
      WHERE b.account_id = s.account_id AND b.id = s.id AND b.store = ${store} AND b.used_at < now() - interval '24 hours'
        AND NOT EXISTS (SELECT FROM attachments a WHERE a.account_id = b.account_id AND a.blob_id = b.id)
        AND NOT EXISTS (SELECT FROM received_emails r WHERE r.account_id = b.account_id AND r.raw_blob_id = b.id)
        AND NOT EXISTS (SELECT FROM received_attachments a WHERE a.account_id = b.account_id AND a.blob_id = b.id)
        AND NOT EXISTS (SELECT FROM contact_imports i WHERE i.account_id = b.account_id AND i.blob_id = b.id)
      FOR UPDATE SKIP LOCKED
    ) u
  )
`

/** Selects the blob that the next call continues after; null at the end. */
const last = sql.fragment`(SELECT to_jsonb(s) FROM slice s ORDER BY account_id DESC, id DESC LIMIT 1)`

const Place = z.object({ account_id: z.string(), id: z.string() })
/** `last`: the blob that the next call continues after; null at the end. */
type Slice<Found> = Found & { last: BlobId | null }

/** Deletes unused blobs in Postgres with their bytes, among the next blobs after one; returns how many. */
export async function deleteUnusedBlobs(
  db: Queryable,
  after: BlobId | null,
  limit: number,
): Promise<Slice<{ count: number }>> {
  return db.one(sql.type(z.object({ count: z.int(), last: Place.nullable() }))`
    WITH ${nextUnused('postgres', after, limit)}, deleted AS (
      DELETE FROM blobs b USING unused u WHERE b.account_id = u.account_id AND b.id = u.id
    )
    SELECT (SELECT count(*) FROM unused)::integer AS count, ${last} AS last
  `)
}

/** Releases unused blobs of another store: they can no longer be found, so their bytes can be deleted there. */
export async function releaseBlobs(
  db: Queryable,
  store: BlobStoreName,
  after: BlobId | null,
  limit: number,
): Promise<Slice<{ released: BlobId[] }>> {
  return db.one(sql.type(z.object({ released: z.array(Place), last: Place.nullable() }))`
    WITH ${nextUnused(store, after, limit)}, released AS (
      UPDATE blobs b SET sha256 = NULL FROM unused u WHERE b.account_id = u.account_id AND b.id = u.id
    )
    SELECT (SELECT coalesce(jsonb_agg(to_jsonb(u)), '[]') FROM unused u) AS released, ${last} AS last
  `)
}
