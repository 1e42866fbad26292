const MARK = Buffer.from('\ufeff')
const NOTHING = Buffer.alloc(0)

/** Removes a byte order mark from the beginning of bytes that arrive in pieces: readers take it for a part of the first line. */
export class ByteOrderMark {
  /** The bytes so far that may be the mark; null once that is known. */
  #begin: Buffer | null = NOTHING

  push(piece: Buffer): Buffer {
    if (this.#begin === null) return piece
    const begin = this.#begin.length === 0 ? piece : Buffer.concat([this.#begin, piece])
    const isOpen = begin.length < MARK.length && MARK.indexOf(begin) === 0
    this.#begin = isOpen ? begin : null
    if (isOpen) return NOTHING
    return begin.subarray(0, MARK.length).equals(MARK) ? begin.subarray(MARK.length) : begin
  }

  /** Returns the rest of the bytes. */
  end(): Buffer {
    return this.#begin ?? NOTHING
  }
}
