import { CLOSE_ARRAY, COMMA, isWhiteSpace } from '#lib/json/bytes.ts'

const ZERO = 0x30
const NINE = 0x39

/** A list in place of a string has another value than a byte. */
export class NotBytesError extends Error {
  override readonly name = 'NotBytesError'
}

/**
 * Reads a JSON list of integers from 0 to 255 from after its opening bracket, split into pieces anywhere: the form in which the
 * libraries of Resend for Go, Ruby, Rust and Python write files.
 */
export class ByteListReader {
  /** The closing bracket has been read. */
  isDone = false
  readonly isWellFormed = true
  /** The number that is being read, or was read last; null before the first digit. */
  #number: number | null = null
  /** No further digit may follow. */
  #isEnded = false
  /** A number must follow, since a comma came before. */
  #isOpen = false

  /** `end` is the position after the closing bracket, or the length of the piece. */
  read(piece: Buffer, start: number): { end: number; bytes: Buffer } {
    const bytes = Buffer.allocUnsafe(Math.ceil((piece.length - start) / 2) + 1)
    let length = 0
    for (let at = start; at < piece.length; at++) {
      const byte = piece[at] as number
      if (byte >= ZERO && byte <= NINE) this.#digit(byte - ZERO)
      else if (isWhiteSpace[byte]) this.#isEnded = this.#number !== null
      else if (byte === COMMA) bytes[length++] = this.#take(true)
      else if (byte === CLOSE_ARRAY) {
        if (this.#number !== null || this.#isOpen) bytes[length++] = this.#take(false)
        this.isDone = true
        return { end: at + 1, bytes: bytes.subarray(0, length) }
      } else throw new NotBytesError('a list has another value than a byte')
    }
    return { end: piece.length, bytes: bytes.subarray(0, length) }
  }

  #digit(digit: number): void {
    const number = (this.#number ?? 0) * 10 + digit
    if (this.#isEnded || this.#number === 0 || number > 255) throw new NotBytesError('a list has no byte')
    this.#number = number
  }

  #take(isOpen: boolean): number {
    const number = this.#number
    if (number === null) throw new NotBytesError('a list lacks a byte')
    this.#number = null
    this.#isEnded = false
    this.#isOpen = isOpen
    return number
  }
}
