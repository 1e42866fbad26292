import { TextDecoder } from 'node:util'
import { BACKSLASH, QUOTE } from '#lib/json/bytes.ts'

const LOWER_U = 0x75
/** Marks characters that are not in a table. */
const INVALID = 255
/** Value of `#missing` directly after a backslash, when it is unknown whether hex digits follow. */
const BEHIND_BACKSLASH = 5

const BEYOND_ASCII = 1
const SPECIAL = 2
const kindOf = new Uint8Array(256).fill(SPECIAL, 0, 0x20).fill(BEYOND_ASCII, 0x80)
kindOf[QUOTE] = SPECIAL
kindOf[BACKSLASH] = SPECIAL

const shortEscapes = new Uint8Array(256).fill(INVALID)
for (const [name, character] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'])
  shortEscapes[(name as string).charCodeAt(0)] = (character as string).charCodeAt(0)

const hexDigits = new Uint8Array(256).fill(INVALID)
for (const digit of '0123456789abcdefABCDEF') hexDigits[digit.charCodeAt(0)] = Number.parseInt(digit, 16)

/**
 * Reads one JSON string from after its opening quote (RFC 8259 section 7), split into pieces anywhere. The returned bytes,
 * concatenated, are `Buffer.from(JSON.parse(string))`: UTF-8, with U+FFFD for a lone surrogate. Throws a SyntaxError where the
 * text is not JSON: at control characters, invalid escapes and invalid UTF-8.
 */
export class StringReader {
  /** The closing quote has been read. */
  isDone = false
  /** False after a lone surrogate. */
  isWellFormed = true
  /** Hex digits of the escape that are still to come; 0 outside of an escape. */
  #missing = 0
  /** The UTF-16 code unit of the escape, as far as its digits have been read. */
  #unit = 0
  /** The first half of a surrogate pair, whose second half may be in the next escape. */
  #high = ''
  /** Checks text beyond ASCII; null outside of such text. */
  #utf8: TextDecoder | null = null
  /** The output for this piece, once it differs from the piece itself. */
  #out: Buffer | null = null
  #length = 0

  /** `end` is the position after the closing quote, or the length of the piece; `bytes` may be a slice of the piece. */
  read(piece: Buffer, start: number): { end: number; bytes: Buffer } {
    this.#out = null
    if (this.#missing > 0 || this.#high) this.#copyOut(piece, start, start)
    let at = start
    while (at < piece.length) {
      if (this.#missing > 0) {
        this.#readEscape(piece[at++] as number)
        continue
      }
      at = this.#readPlain(piece, at)
      if (at === piece.length) break
      const byte = piece[at++]
      if (byte === QUOTE) return this.#finish(piece, start, at)
      if (byte !== BACKSLASH) throw new SyntaxError('a control character in a string')
      this.#missing = BEHIND_BACKSLASH
      if (!this.#out) this.#copyOut(piece, start, at - 1)
    }
    return { end: at, bytes: this.#taken(piece, start, at) }
  }

  #finish(piece: Buffer, start: number, end: number) {
    this.isDone = true
    this.#putHigh()
    return { end, bytes: this.#taken(piece, start, end - 1) }
  }

  #taken(piece: Buffer, start: number, end: number): Buffer {
    return this.#out ? this.#out.subarray(0, this.#length) : piece.subarray(start, end)
  }

  /** Copies bytes from now on. An escape is longer than its character, but may have begun in the last piece. */
  #copyOut(piece: Buffer, start: number, end: number): void {
    this.#out = Buffer.allocUnsafe(piece.length - start + 8)
    this.#length = piece.copy(this.#out, 0, start, end)
  }

  #readPlain(piece: Buffer, start: number): number {
    let at = start
    let kinds = 0
    for (; at < piece.length; at++) {
      const kind = kindOf[piece[at] as number] as number
      if (kind === SPECIAL) break
      kinds |= kind
    }
    if (kinds === BEYOND_ASCII || this.#utf8) this.#checkUtf8(piece.subarray(start, at), at === piece.length)
    if (this.#out && at > start) {
      this.#putHigh()
      this.#length += piece.copy(this.#out, this.#length, start, at)
    }
    return at
  }

  #checkUtf8(bytes: Buffer, goesOn: boolean): void {
    this.#utf8 ??= new TextDecoder('utf-8', { fatal: true })
    try {
      this.#utf8.decode(bytes, { stream: goesOn })
    } catch (cause) {
      throw new SyntaxError('broken UTF-8 in a string', { cause })
    }
    if (!goesOn) this.#utf8 = null
  }

  #readEscape(byte: number): void {
    if (this.#missing === BEHIND_BACKSLASH) {
      this.#unit = byte === LOWER_U ? 0 : (shortEscapes[byte] as number)
      this.#missing = byte === LOWER_U ? 4 : 0
      if (this.#unit === INVALID) throw new SyntaxError('a bad escape in a string')
    } else {
      const digit = hexDigits[byte] as number
      if (digit === INVALID) throw new SyntaxError('a bad escape in a string')
      this.#unit = this.#unit * 16 + digit
      this.#missing--
    }
    if (this.#missing === 0) this.#putUnit(this.#unit)
  }

  #putUnit(unit: number): void {
    const out = this.#out as Buffer
    if (unit < 0x80 && !this.#high) {
      out[this.#length++] = unit
      return
    }
    const isHigh = unit >= 0xd800 && unit < 0xdc00
    if (isHigh) this.#putHigh()
    const character = this.#high + String.fromCharCode(unit)
    if (isHigh) this.#high = character
    else {
      this.#high = ''
      if (!character.isWellFormed()) this.isWellFormed = false
      this.#length += out.write(character, this.#length)
    }
  }

  /** Writes a first half that remained without a second one. */
  #putHigh(): void {
    if (!this.#high) return
    this.#length += (this.#out as Buffer).write(this.#high, this.#length)
    this.#high = ''
    this.isWellFormed = false
  }
}
