const FIRST_ROOM = 4 * 1024

/**
 * Concatenates bytes that arrive in pieces. A list of the pieces would take at least a hundred bytes per piece, and a client may
 * send one byte at a time.
 */
export class GrowingBuffer {
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0
  readonly #max: number

  /** The capacity doubles as it fills, up to `max` bytes, which callers must not exceed. */
  constructor(max: number) {
    this.#max = max
  }

  get length(): number {
    return this.#length
  }

  append(source: Buffer, start = 0, end = source.length): void {
    const length = this.#length + end - start
    if (length > this.#bytes.length) this.#grow(length)
    source.copy(this.#bytes, this.#length, start, end)
    this.#length = length
  }

  latin1(start: number): string {
    return this.#bytes.toString('latin1', start, this.#length)
  }

  /** Returns all bytes and becomes empty. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length)
    this.#bytes = Buffer.alloc(0)
    this.#length = 0
    return bytes
  }

  #grow(length: number): void {
    if (length > this.#max) throw new RangeError(`${length} bytes in a buffer of at most ${this.#max}`)
    const room = Math.min(this.#max, Math.max(length, 2 * this.#bytes.length, FIRST_ROOM))
    const bytes = Buffer.allocUnsafeSlow(room)
    this.#bytes.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
  }
}
