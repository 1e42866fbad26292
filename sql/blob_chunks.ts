import { z } from 'zod'
import type { BlobStore } from '../lib/blob_store.ts'
import { type Pool, sql } from './pool.ts'

const Chunk = z.object({ data: z.instanceof(Buffer) })

/** Blobs in Postgres: a row for each chunk that is written, one at a time in memory. Keys are `account_id/blob_id`. */
export function createPostgresBlobs(pool: Pool): BlobStore {
  return {
    async write(key, chunks) {
      const [account_id = '', blob_id = ''] = key.split('/')
      let position = 0
      for await (const chunk of chunks) {
        await pool.run(sql.unsafe`
          INSERT INTO blob_chunks (account_id, blob_id, position, data)
          VALUES (${account_id}, ${blob_id}, ${position++}, ${sql.binary(chunk)})
        `)
      }
    },
    async *read(key) {
      const [account_id = '', blob_id = ''] = key.split('/')
      // An empty blob has no chunk; that there is a blob at all, whoever has its id knows.
      for (let position = 0; ; position++) {
        const chunk = await pool.maybeOne(sql.prepared('read_blob_chunk', Chunk)`
          SELECT data FROM blob_chunks
          WHERE account_id = ${account_id} AND blob_id = ${blob_id} AND position = ${position}
        `)
        if (!chunk) return
        yield chunk.data
      }
    },
    // Their rows go with those of the blobs.
    async delete() {},
    close() {},
  }
}
