import { z } from 'zod'
import type { BlobStore } from '#lib/files/blob_store.ts'
import { type Pool, sql } from '#sql/pool.ts'

const Piece = z.object({ data: z.instanceof(Buffer), size: z.int() })

/**
 * Bytes read at a time, a multiple of 57 like the chunk. Postgres returns twice as many digits, and a result longer
 * than one read of its socket (64 KiB) costs several times its length in buffers.
 */
const PIECE_SIZE = 57 * 512

/**
 * Stores blobs in Postgres, one row per written chunk, with one chunk at a time in memory. Keys are
 * `account_id/blob_id`.
 */
export function createPostgresBlobs(pool: Pool): BlobStore {
  return {
    async write(key, chunks) {
      const [account_id = '', blob_id = ''] = key.split('/')
      let position = 0
      for await (const chunk of chunks) {
        // It need not be on disk before the commit that completes the blob, which also flushes all earlier commits.
        await pool.run(sql.unsafe`
          INSERT INTO blob_chunks (account_id, blob_id, position, data)
          SELECT ${account_id}, ${blob_id}, ${position++}, ${sql.binary(chunk)}
          FROM set_config('synchronous_commit', 'off', true)
        `)
      }
    },
    async *read(key) {
      const [account_id = '', blob_id = ''] = key.split('/')
      // An empty blob has no chunk; callers know that the blob exists, since they have its id.
      for (let position = 0, start = 0; ; ) {
        const piece = await pool.maybeOne(sql.prepared('read_blob_piece', Piece)`
          SELECT substring(data FROM ${start + 1} FOR ${PIECE_SIZE}) AS data, length(data) AS size FROM blob_chunks
          WHERE account_id = ${account_id} AND blob_id = ${blob_id} AND position = ${position}
        `)
        if (!piece) return
        yield piece.data
        start += PIECE_SIZE
        if (start >= piece.size) {
          position++
          start = 0
        }
      }
    },
    // Chunks are deleted together with the rows of blobs.
    async delete() {},
    close() {},
  }
}
