import { z } from 'zod'
import type { BlobStore } from '#lib/files/blob_store.ts'
import { type Pool, sql } from '#sql/pool.ts'

const Piece = z.object({ data: z.instanceof(Buffer), size: z.int() })

/**
 * Bytes of a chunk that are read at a time, a multiple of 57 as the chunk is. Postgres answers them as twice as many
 * digits, and what is longer than one read of its socket (64 KiB) costs several times its length in buffers.
 */
const PIECE_SIZE = 57 * 512

/** Blobs in Postgres: a row for each chunk that is written, one at a time in memory. Keys are `account_id/blob_id`. */
export function createPostgresBlobs(pool: Pool): BlobStore {
  return {
    async write(key, chunks) {
      const [account_id = '', blob_id = ''] = key.split('/')
      let position = 0
      for await (const chunk of chunks) {
        // It need not be on disk before the commit that completes the blob, which brings all commits before it there.
        await pool.run(sql.unsafe`
          INSERT INTO blob_chunks (account_id, blob_id, position, data)
          SELECT ${account_id}, ${blob_id}, ${position++}, ${sql.binary(chunk)}
          FROM set_config('synchronous_commit', 'off', true)
        `)
      }
    },
    async *read(key) {
      const [account_id = '', blob_id = ''] = key.split('/')
      // An empty blob has no chunk; that there is a blob at all, whoever has its id knows.
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
    // Their rows go with those of the blobs.
    async delete() {},
    close() {},
  }
}
