import type { Config } from '#lib/config.ts'
import type { BlobStore } from '#lib/files/blob_store.ts'
import { createS3Blobs } from '#lib/files/s3_blobs.ts'
import { createPostgresBlobs } from '#sql/files/blob_chunks.ts'
import { type BlobId, type BlobStoreName, deleteBlobs } from '#sql/files/blobs.ts'
import { deleteUnusedBlobs, releaseBlobs } from '#sql/files/unused_blobs.ts'
import type { Pool } from '#sql/pool.ts'

/** Blobs looked at per statement. */
const PURGED = 100

/** The stores that hold the bytes of blobs: BLOB_STORE, for new ones, and Postgres, for those written when it was the store. */
export class BlobStores {
  readonly current: BlobStoreName
  readonly #pool: Pool
  readonly #stores: { [Name in BlobStoreName]: BlobStore | null }

  constructor(pool: Pool, { BLOB_STORE }: Config) {
    this.current = BLOB_STORE === 'postgres' ? 'postgres' : 's3'
    this.#pool = pool
    this.#stores = {
      postgres: createPostgresBlobs(pool),
      s3: BLOB_STORE === 'postgres' ? null : createS3Blobs(BLOB_STORE),
    }
  }

  /** @throws if the store is no longer configured */
  write(name: BlobStoreName, blob: BlobId, chunks: AsyncIterable<Buffer>): Promise<void> {
    return this.#storeOf(name).write(keyOf(blob), chunks)
  }

  /** @throws if the store is no longer configured */
  read(name: BlobStoreName, blob: BlobId): AsyncIterable<Buffer> {
    return this.#storeOf(name).read(keyOf(blob))
  }

  /** Deletes a new blob that no row refers to; if that fails, `purge` gets it later. */
  async drop(blob: BlobId): Promise<void> {
    await this.#delete(this.current, [blob]).catch(() => {})
  }

  /** Deletes blobs that nothing refers to; returns how many were deleted. */
  async purge(): Promise<number> {
    // Blobs in a store that is no longer configured are kept, and do not stop others from being deleted.
    const postgres = await inSlices(after => deleteUnusedBlobs(this.#pool, after, PURGED))
    return this.#stores.s3 ? postgres + (await inSlices(after => this.#purgeS3(after))) : postgres
  }

  close(): void {
    for (const store of Object.values(this.#stores)) store?.close()
  }

  #storeOf(name: BlobStoreName): BlobStore {
    const store = this.#stores[name]
    if (!store) throw new Error(`a blob is in ${name}, which BLOB_STORE no longer names`)
    return store
  }

  /** Deletes the rows last: without them the stored bytes could not be found. */
  async #delete(name: BlobStoreName, blobs: BlobId[]): Promise<void> {
    await this.#storeOf(name).delete(blobs.map(keyOf))
    await deleteBlobs(this.#pool, blobs)
  }

  async #purgeS3(after: BlobId | null): Promise<Slice> {
    const { released, last } = await releaseBlobs(this.#pool, 's3', after, PURGED)
    if (released.length > 0) await this.#delete('s3', released)
    return { count: released.length, last }
  }
}

type Slice = { count: number; last: BlobId | null }

/** Repeats until all blobs were looked at; returns how many were deleted. */
async function inSlices(deleteSome: (after: BlobId | null) => Promise<Slice>): Promise<number> {
  let [slice, deleted] = [await deleteSome(null), 0]
  for (; slice.last; slice = await deleteSome(slice.last)) deleted += slice.count
  return deleted
}

function keyOf({ account_id, id }: BlobId): string {
  return `${account_id}/${id}`
}
