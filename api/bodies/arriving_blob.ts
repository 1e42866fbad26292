import { PassThrough } from 'node:stream'
import type { Blobs } from '#flows/files/blobs.ts'
import { rechunk } from '#lib/files/chunker.ts'
import { collectStreamed } from '#lib/give_back_memory.ts'
import type { Blob } from '#sql/files/blobs.ts'

/** A blob that is stored while its bytes arrive. */
export class ArrivingBlob {
  readonly #pieces = new PassThrough({ objectMode: true, highWaterMark: 2 })
  readonly #blob: Promise<Blob>

  constructor(blobs: Blobs, account_id: string) {
    this.#blob = blobs.write(account_id, rechunk(this.#pieces))
    // Destroyed without the error, since nobody may listen for it; the next write() throws it.
    this.#blob.catch(() => this.#pieces.destroy())
  }

  /** Waits while the store is slower than the client. */
  async write(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return
    collectStreamed(bytes.length)
    if (this.#pieces.destroyed) await this.#blob
    if (!this.#pieces.write(bytes)) await Promise.race([once(this.#pieces, 'drain'), this.#blob])
  }

  end(): Promise<Blob> {
    this.#pieces.end()
    return this.#blob
  }

  /** Discards the bytes that have arrived. */
  async stop(): Promise<void> {
    this.#pieces.destroy()
    await this.#blob.catch(() => {})
  }
}

function once(stream: PassThrough, event: string): Promise<void> {
  return new Promise(resolve => stream.once(event, () => resolve()))
}
