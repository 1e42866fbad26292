const FIRST_ROOM = 4 * 1024

/**
 * Bytes that arrive piece by piece, copied together. A list of the pieces would take a hundred bytes and more for each,
 * and nothing keeps a client from sending them one byte at a time.
 */
export class GrowingBuffer {
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0
  readonly #max: number

  /** The room doubles as it fills, up to `max` bytes; whoever appends keeps to that. */
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

  /** Hands everything over and is empty again. */
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
