/** Where the bytes of blobs lie. `key` is unique and never written twice with other content. */
export type BlobStore = {
  /** Stores the chunks as they come; fails without leaving a whole object. Memory: about one part (5 MB) a call. */
  write(key: string, chunks: AsyncIterable<Buffer>): Promise<void>
  /** @throws when there is none, or while it is read */
  read(key: string): AsyncIterable<Buffer>
  /** A key that is not there is deleted already. */
  delete(keys: string[]): Promise<void>
  close(): void
}

/** The store could not be asked, or refused. */
export class BlobStoreError extends Error {}
