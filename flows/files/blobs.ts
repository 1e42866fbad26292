import { createHash, hash } from 'node:crypto'
import type { Foundation } from '#flows/process/run_process.ts'
import { CHUNK_SIZE } from '#lib/files/chunker.ts'
import { newId } from '#lib/ids.ts'
import {
  type Blob,
  completeBlob,
  findBlob,
  insertBlob,
  insertShortBlob,
  SHORT_CONTENT,
  useBlob,
} from '#sql/files/blobs.ts'
import type { Pool } from '#sql/pool.ts'
import { isDuplicate } from '#sql/retry.ts'
import { BlobStores } from './blob_stores.ts'

/**
 * Contents of files. Equal content is stored once per account, and may be deleted a day after its last use. New content
 * goes to BLOB_STORE; older content is read from the store that has it.
 */
export type Blobs = {
  /** Stores content of any length, chunk by chunk as it arrives. */
  write(account_id: string, chunks: AsyncIterable<Buffer>): Promise<Blob>
  /** Stores content that is in memory, unless it is stored already. `sha256`: hex, if known. */
  put(account_id: string, content: Buffer, sha256?: string): Promise<Blob>
  /** Reads a blob from its start. @throws if there is none */
  read: ReadBlob
  /** Deletes blobs that nothing refers to; returns how many were deleted. */
  purge(): Promise<number>
  close(): void
}

/** Returns the bytes of a blob in chunks of any length. */
export type ReadBlob = (account_id: string, blob_id: string) => AsyncIterable<Buffer>

export function createBlobs({ pool, config }: Pick<Foundation, 'pool' | 'config'>): Blobs {
  const stores = new BlobStores(pool, config)
  const write: Blobs['write'] = (account_id, chunks) => writeBlob(pool, stores, account_id, chunks)
  return {
    write,
    async put(account_id, content, sha256 = hash('sha256', content)) {
      const known = await useBlob(pool, account_id, sha256)
      if (known) return known
      if (stores.current !== 'postgres' || content.length > SHORT_CONTENT) return write(account_id, inPieces(content))
      const blob = { account_id, id: newId(), sha256, size: content.length }
      return complete(pool, blob, () => insertShortBlob(pool, blob, content))
    },
    async *read(account_id, id) {
      const blob = await findBlob(pool, { account_id, id })
      if (!blob) throw new Error(`there is no blob ${id}`)
      if (blob.data) yield blob.data
      else yield* stores.read(blob.store, { account_id, id })
    },
    purge: () => stores.purge(),
    close: () => stores.close(),
  }
}

async function writeBlob(
  pool: Pool,
  stores: BlobStores,
  account_id: string,
  chunks: AsyncIterable<Buffer>,
): Promise<Blob> {
  const arriving = { account_id, id: newId() }
  await insertBlob(pool, arriving, stores.current)
  const digest = new Digest(chunks)
  try {
    await stores.write(stores.current, arriving, digest)
  } catch (error) {
    await stores.drop(arriving)
    throw error
  }
  const arrived = { ...arriving, ...digest.end() }
  // If this fails, the blob may still be complete and in use, so it is kept.
  const blob = await complete(pool, arrived, () => completeBlob(pool, arrived))
  if (blob !== arrived) await stores.drop(arrived)
  return blob
}

/** Stores a blob and returns it, or returns an existing blob with the same content. */
async function complete(pool: Pool, blob: Blob, store: () => Promise<boolean>): Promise<Blob> {
  for (;;) {
    if (await store().catch(unlessTaken)) return blob
    const known = await useBlob(pool, blob.account_id, blob.sha256)
    if (known) return known // otherwise it was released meanwhile
  }
}

/** Returns false if another blob with this content was completed at the same time; rethrows other errors. */
function unlessTaken(error: unknown): false {
  if (isDuplicate(error)) return false
  throw error
}

/** Passes chunks on, and computes their hash and size. */
class Digest implements AsyncIterable<Buffer> {
  readonly #chunks: AsyncIterable<Buffer>
  readonly #hash = createHash('sha256')
  #size = 0

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    for await (const chunk of this.#chunks) {
      this.#hash.update(chunk)
      this.#size += chunk.length
      yield chunk
    }
  }

  end(): { sha256: string; size: number } {
    return { sha256: this.#hash.digest('hex'), size: this.#size }
  }
}

/** Yields content in pieces, which needs less memory: each write is copied, by the Postgres protocol more than once. */
async function* inPieces(content: Buffer): AsyncIterable<Buffer> {
  for (let start = 0; start < content.length; start += CHUNK_SIZE) yield content.subarray(start, start + CHUNK_SIZE)
}
