import { createHash } from 'node:crypto'

/** 25 MiB: the largest attachment. */
export const MAX_FILE_BYTES: number = 25 * 1024 * 1024

/** `fault` follows the name of the decoded field: `attachments[0].content must have at most 26,214,400 bytes`. */
export type Decoded = { bytes: Buffer; size: number; sha256: Buffer } | { fault: string }

const NOTHING = Buffer.alloc(0)

/** Counts and hashes the bytes of a file as they arrive. */
export class FileDigest {
  /** The first fault so far. Everything after it is dropped, so the caller may stop. */
  fault: string | null = null
  readonly #limit: number
  readonly #hash = createHash('sha256')
  #size = 0

  constructor(limit: number = MAX_FILE_BYTES) {
    this.#limit = limit
  }

  /** Returns the bytes; empty after a fault. */
  write(bytes: Buffer): Buffer {
    this.#size += bytes.length
    if (this.#size > this.#limit) this.fault ??= `must have at most ${this.#limit.toLocaleString('en')} bytes`
    if (this.fault) return NOTHING
    this.#hash.update(bytes)
    return bytes
  }

  /** To be called once, with the last bytes. */
  end(last: Buffer = NOTHING): Decoded {
    const bytes = this.write(last)
    return this.fault ? { fault: this.fault } : { bytes, size: this.#size, sha256: this.#hash.digest() }
  }
}
