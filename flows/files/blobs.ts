import { createHash, hash } from 'node:crypto'
import type { Foundation } from '#flows/process/run_process.ts'
import type { Config } from '#lib/config.ts'
import type { BlobStore } from '#lib/files/blob_store.ts'
import { CHUNK_SIZE } from '#lib/files/chunker.ts'
import { createS3Blobs } from '#lib/files/s3_blobs.ts'
import { newId } from '#lib/ids.ts'
import { createPostgresBlobs } from '#sql/files/blob_chunks.ts'
import {
  type Blob,
  type BlobId,
  type BlobStoreName,
  completeBlob,
  deleteBlobs,
  deleteUnusedBlobs,
  findBlob,
  insertBlob,
  insertShortBlob,
  releaseBlobs,
  SHORT_CONTENT,
  useBlob,
} from '#sql/files/blobs.ts'
import { type Pool, sqlState } from '#sql/pool.ts'

/** Contents of files. The same content is stored once for each account; a day after its last use it may be deleted. */
export type Blobs = {
  /** Content of any length, chunk by chunk as it comes. */
  write(account_id: string, chunks: AsyncIterable<Buffer>): Promise<Blob>
  /** Content at hand, and its hash in hex if that is too; it is not even written when it is known. */
  put(account_id: string, content: Buffer, sha256?: string): Promise<Blob>
  /** From its start. @throws when there is none */
  read: ReadBlob
  /** Deletes what no email refers to. Answers how many it were. */
  purge(): Promise<number>
  close(): void
}

/** The bytes of a blob, in pieces of any length. */
export type ReadBlob = (account_id: string, blob_id: string) => AsyncIterable<Buffer>

const UNIQUE_VIOLATION = '23505'

/** Of one statement. */
const PURGED = 100

/** New ones go where BLOB_STORE says; those that came when it said otherwise are found where they are. */
export function createBlobs({ pool, config }: Pick<Foundation, 'pool' | 'config'>): Blobs {
  const stores = openStores(config, pool)
  const current = stores.s3 ? 's3' : 'postgres'

  const storeOf = (name: BlobStoreName): BlobStore => {
    const store = stores[name]
    if (!store) throw new Error(`a blob lies in ${name}, which BLOB_STORE does not name any more`)
    return store
  }

  /** Of what nobody can find. What is left when that fails is purged with time. */
  const drop = async (blob: BlobId): Promise<void> => {
    await deleteFrom(current, [blob]).catch(() => {})
  }

  /** The rows last: without them nobody knows of the bytes. */
  const deleteFrom = async (name: BlobStoreName, blobs: BlobId[]): Promise<void> => {
    await storeOf(name).delete(blobs.map(keyOf))
    await deleteBlobs(pool, blobs)
  }

  const purgeS3 = async (): Promise<number> => {
    const released = await releaseBlobs(pool, 's3', PURGED)
    if (released.length > 0) await deleteFrom('s3', released)
    return released.length
  }

  const write: Blobs['write'] = async (account_id, chunks) => {
    const arriving = { account_id, id: newId() }
    await insertBlob(pool, arriving, current)
    const digest = new Digest(chunks)
    try {
      await storeOf(current).write(keyOf(arriving), digest)
    } catch (error) {
      await drop(arriving)
      throw error
    }
    const arrived = { ...arriving, ...digest.end() }
    // When this fails, it may be complete all the same, and somebody else have it by now: it stays.
    const blob = await complete(pool, arrived, () => completeBlob(pool, arrived))
    if (blob !== arrived) await drop(arrived)
    return blob
  }

  return {
    write,
    async put(account_id, content, sha256 = hash('sha256', content)) {
      const known = await useBlob(pool, account_id, sha256)
      if (known) return known
      if (current !== 'postgres' || content.length > SHORT_CONTENT) return write(account_id, inPieces(content))
      const blob = { account_id, id: newId(), sha256, size: content.length }
      return complete(pool, blob, () => insertShortBlob(pool, blob, content))
    },
    async *read(account_id, id) {
      const blob = await findBlob(pool, { account_id, id })
      if (!blob) throw new Error(`there is no blob ${id}`)
      if (blob.data) yield blob.data
      else yield* storeOf(blob.store).read(keyOf({ account_id, id }))
    },
    async purge() {
      let count = 0
      // What lies where nobody leads any more stays, and keeps nothing else from being deleted.
      for (const purgeSome of [() => deleteUnusedBlobs(pool, PURGED), ...(stores.s3 ? [purgeS3] : [])]) {
        for (let gone = PURGED; gone === PURGED; count += gone) gone = await purgeSome()
      }
      return count
    },
    close() {
      for (const store of Object.values(stores)) store?.close()
    },
  }
}

function openStores({ BLOB_STORE }: Config, pool: Pool): { [Name in BlobStoreName]: BlobStore | null } {
  return { postgres: createPostgresBlobs(pool), s3: BLOB_STORE === 'postgres' ? null : createS3Blobs(BLOB_STORE) }
}

function keyOf({ account_id, id }: BlobId): string {
  return `${account_id}/${id}`
}

/** The blob of this content: the one that `store` makes known, or one that was known before, which makes it needless. */
async function complete(pool: Pool, blob: Blob, store: () => Promise<boolean>): Promise<Blob> {
  for (;;) {
    if (await store().catch(unlessTaken)) return blob
    const known = await useBlob(pool, blob.account_id, blob.sha256)
    if (known) return known // else it was released at that moment
  }
}

/** Another one of this content was completed at the same moment. */
function unlessTaken(error: unknown): false {
  if (sqlState(error) === UNIQUE_VIOLATION) return false
  throw error
}

/** Passes chunks on, and knows in the end what they were. */
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

/** In pieces: what is written at a time is copied, and in Postgres's own protocol more than once. */
async function* inPieces(content: Buffer): AsyncIterable<Buffer> {
  for (let start = 0; start < content.length; start += CHUNK_SIZE) yield content.subarray(start, start + CHUNK_SIZE)
}
