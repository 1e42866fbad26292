import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

export type BlobId = { account_id: string; id: string }

/** Where its bytes lie. */
const BlobStoreName = z.enum(['postgres', 's3'])
export type BlobStoreName = z.infer<typeof BlobStoreName>

/** `sha256` is hex, `size` in bytes. */
export const Blob = z.object({ account_id: z.string(), id: z.string(), sha256: z.string(), size: z.int() })
export type Blob = z.infer<typeof Blob>

const columns = sql.fragment`account_id, id, encode(sha256, 'hex') AS sha256, size`

/** One that is about to arrive. */
export async function insertBlob(db: Queryable, { account_id, id }: BlobId, store: BlobStoreName): Promise<void> {
  await db.run(sql.unsafe`INSERT INTO blobs (account_id, id, store) VALUES (${account_id}, ${id}, ${store})`)
}

export async function findBlobStore(db: Queryable, { account_id, id }: BlobId): Promise<BlobStoreName | null> {
  const found = await db.maybeOne(sql.prepared('find_blob_store', z.object({ store: BlobStoreName }))`
    SELECT store FROM blobs WHERE account_id = ${account_id} AND id = ${id}
  `)
  return found?.store ?? null
}

/** The blob of this content, if it is stored already: from now on it stays for as long as a new one would. */
export async function useBlob(db: Queryable, account_id: string, sha256: string): Promise<Blob | null> {
  return db.maybeOne(sql.type(Blob)`
    UPDATE blobs SET used_at = now() WHERE account_id = ${account_id} AND sha256 = decode(${sha256}, 'hex')
    RETURNING ${columns}
  `)
}

/**
 * All of it has arrived. Answers false, and does nothing, when another blob has this content; fails as Postgres does (23505)
 * when one gets it at the same moment.
 */
export async function completeBlob(db: Queryable, { account_id, id, sha256, size }: Blob): Promise<boolean> {
  const count = await db.run(sql.unsafe`
    UPDATE blobs SET sha256 = decode(${sha256}, 'hex'), size = ${size}, used_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
      AND NOT EXISTS (SELECT FROM blobs WHERE account_id = ${account_id} AND sha256 = decode(${sha256}, 'hex'))
  `)
  return count > 0
}

/** Takes back what nobody has used for a day and no email refers to: it is not found any more, and can be deleted. */
export async function releaseBlobs(db: Queryable, store: BlobStoreName, limit: number): Promise<BlobId[]> {
  return db.any(sql.type(z.object({ account_id: z.string(), id: z.string() }))`
    UPDATE blobs SET sha256 = NULL
    WHERE (account_id, id) IN (
      SELECT b.account_id, b.id FROM blobs b
      WHERE b.store = ${store} AND b.used_at < now() - interval '24 hours'
        AND NOT EXISTS (SELECT FROM attachments a WHERE a.account_id = b.account_id AND a.blob_id = b.id)
        AND NOT EXISTS (SELECT FROM received_emails r WHERE r.account_id = b.account_id AND r.raw_blob_id = b.id)
        AND NOT EXISTS (SELECT FROM received_attachments a WHERE a.account_id = b.account_id AND a.blob_id = b.id)
      ORDER BY b.used_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    RETURNING account_id, id
  `)
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
