/** Stores the bytes of blobs. `key` is unique and never written twice with different content. */
export type BlobStore = {
  /**
   * Stores the chunks as they arrive. A failed write leaves no complete object. Takes the memory of about one part (5 MB) per
   * call.
   */
  write(key: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** @throws if there is none, or while it is read */
  read(key: string): AsyncIterable<Buffer>
  /** Does not fail for a key that does not exist. */
  delete(keys: string[]): Promise<void>
  close(): void
}

/** The store could not be reached, or refused the request. */
export class BlobStoreError extends Error {}
