import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'

export type BlobId = { account_id: string; id: string }

/** The store of the bytes of a blob. */
const BlobStoreName = z.enum(['postgres', 's3'])
export type BlobStoreName = z.infer<typeof BlobStoreName>

/** `sha256` is hex, `size` in bytes. */
export const Blob = z.object({ account_id: z.string(), id: z.string(), sha256: z.string(), size: z.int() })
export type Blob = z.infer<typeof Blob>

/**
 * Maximum bytes that are stored in the row of a blob. They are read at once: Postgres returns twice as many digits, and a
 * result longer than one read of its socket (64 KiB) costs several times its length in buffers.
 */
export const SHORT_CONTENT = 29_000

const columns = sql.fragment`account_id, id, encode(sha256, 'hex') AS sha256, size`

/** Adds a blob whose content will follow. */
export async function insertBlob(db: Queryable, { account_id, id }: BlobId, store: BlobStoreName): Promise<void> {
  await db.run(sql.unsafe`INSERT INTO blobs (account_id, id, store) VALUES (${account_id}, ${id}, ${store})`)
}

/** Adds a blob with short content, unless that content is stored already. Returns true if it was stored. */
export async function insertShortBlob(db: Queryable, blob: Blob, content: Buffer): Promise<boolean> {
  const { account_id, id, sha256, size } = blob
  const count = await db.run(sql.prepared('insert_short_blob', z.unknown())`
    INSERT INTO blobs (account_id, id, store, sha256, size, data)
    VALUES (${account_id}, ${id}, 'postgres', decode(${sha256}, 'hex'), ${size}, ${sql.binary(content)})
    ON CONFLICT (account_id, sha256) DO NOTHING
  `)
  return count > 0
}

const StoredBlob = z.object({ store: BlobStoreName, data: z.instanceof(Buffer).nullable() })

/** Returns the store of a blob, and its bytes if they are short. */
export async function findBlob(db: Queryable, { account_id, id }: BlobId): Promise<z.infer<typeof StoredBlob> | null> {
  return db.maybeOne(sql.prepared('find_blob', StoredBlob)`
    SELECT store, data FROM blobs WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/**
 * Returns the blob with this content, if it is stored already, and extends its retention to that of a new one, or an
 * hour less: so the row of frequent content, which may contain all of it, is not written each time.
 */
export async function useBlob(db: Queryable, account_id: string, sha256: string): Promise<Blob | null> {
  return db.maybeOne(sql.type(Blob)`
    WITH used AS (
      UPDATE blobs SET used_at = now()
      WHERE account_id = ${account_id} AND sha256 = decode(${sha256}, 'hex') AND used_at < now() - interval '1 hour'
      RETURNING ${columns}
    )
    SELECT * FROM used UNION ALL
    SELECT ${columns} FROM blobs
    WHERE account_id = ${account_id} AND sha256 = decode(${sha256}, 'hex') AND used_at >= now() - interval '1 hour'
  `)
}

/**
 * Completes a blob whose content has arrived. Returns false and does nothing if another blob has this content; throws
 * SQLSTATE 23505 if another one gets it at the same moment.
 */
export async function completeBlob(db: Queryable, { account_id, id, sha256, size }: Blob): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    UPDATE blobs SET sha256 = decode(${sha256}, 'hex'), size = ${size}, used_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
      AND NOT EXISTS (SELECT FROM blobs WHERE account_id = ${account_id} AND sha256 = decode(${sha256}, 'hex'))
  `)
  return count > 0
}

export async function deleteBlobs(db: Queryable, blobs: BlobId[]): Promise<void> {
  const accounts = sql.array(
    blobs.map(blob => blob.account_id),
    'uuid',
  )
  const ids = sql.array(
    blobs.map(blob => blob.id),
    'uuid',
  )
  await db.run(sql.unsafe`
    DELETE FROM blobs b USING unnest(${accounts}, ${ids}) AS gone(account_id, id)
    WHERE b.account_id = gone.account_id AND b.id = gone.id
  `)
}
