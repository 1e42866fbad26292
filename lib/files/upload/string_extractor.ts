import { randomUUID } from 'node:crypto'
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '#lib/json/bytes.ts'
import { ByteListReader } from './byte_list_reader.ts'
import { type ExtractOptions, type Skeleton, type StringPart, TooLargeError } from './extracted.ts'
import { GrowingBuffer } from './growing_buffer.ts'
import { type JsonPath, PathTracker } from './path_tracker.ts'
import { StringReader } from './string_reader.ts'

type Wanted = { path: JsonPath; reader: StringReader | ByteListReader }

/** Extracts strings piece by piece. It only finds where strings begin and end; JSON.parse checks everything else. */
export class StringExtractor {
  readonly #options: ExtractOptions
  readonly #path: PathTracker
  readonly #skeleton: GrowingBuffer
  /** Random and never shown, so no client can write a placeholder. */
  readonly #token = `${randomUUID()}:`
  #count = 0
  #wanted: Wanted | null = null
  #isInString = false
  #isEscaped = false
  /** Start of the current key in the skeleton. */
  #key_start: number | null = null
  /** Position in this piece: the bytes before it are in the skeleton, or were extracted. */
  #kept = 0

  constructor(options: ExtractOptions) {
    this.#options = options
    this.#path = new PathTracker(options.paths)
    this.#skeleton = new GrowingBuffer(options.max_bytes)
  }

  /** Length of the skeleton so far, in bytes. */
  get length(): number {
    return this.#skeleton.length
  }

  push(piece: Buffer): StringPart[] {
    const parts: StringPart[] = []
    this.#kept = 0
    let at = 0
    while (at < piece.length) {
      if (this.#wanted) at = this.#readWanted(this.#wanted, piece, at, parts)
      else at = this.#isInString ? this.#skipString(piece, at) : this.#skipStructure(piece, at)
    }
    if (!this.#wanted) this.#keep(piece, piece.length)
    return parts
  }

  /** To be called once. */
  end(): Skeleton {
    const token = this.#token
    const indexOf = (value: unknown) =>
      typeof value === 'string' && value.startsWith(token) ? Number(value.slice(token.length)) : null
    return { bytes: this.#skeleton.take(), indexOf }
  }

  #skipStructure(piece: Buffer, start: number): number {
    const path = this.#path
    for (let at = start; at < piece.length; at++) {
      const byte = piece[at]
      if (byte === QUOTE) {
        this.#beginString(piece, at + 1)
        return at + 1
      }
      if (byte === OPEN_ARRAY && this.#beginList(piece, at)) return at + 1
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) path.open(byte === OPEN_ARRAY)
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) path.close()
      else if (byte === COMMA) path.comma()
      else if (byte === COLON) path.colon()
    }
    return piece.length
  }

  #beginString(piece: Buffer, at: number): void {
    const path = this.#path.nextString()
    if (path === 'key' || path === null) {
      this.#isInString = true
      this.#key_start = path === 'key' ? this.#skeleton.length + at - this.#kept : null
    } else {
      this.#keep(piece, at)
      this.#want({ path, reader: new StringReader() })
    }
  }

  #beginList(piece: Buffer, at: number): boolean {
    const path = this.#options.lists && this.#path.nextString()
    if (!path || path === 'key' || !this.#options.lists?.includes(path)) return false
    this.#keep(piece, at)
    this.#append(Buffer.from('"'))
    this.#want({ path, reader: new ByteListReader() })
    return true
  }

  #want(wanted: Wanted): void {
    if (this.#count === this.#options.max_strings) throw new TooLargeError(`more than ${this.#count} strings`)
    this.#wanted = wanted
  }

  #readWanted({ path, reader }: Wanted, piece: Buffer, start: number, parts: StringPart[]): number {
    const { end, bytes } = reader.read(piece, start)
    const { isDone: is_last, isWellFormed: is_well_formed } = reader
    const is_list = reader instanceof ByteListReader
    if (bytes.length > 0 || is_last) parts.push({ path, index: this.#count, bytes, is_list, is_last, is_well_formed })
    if (reader.isDone) {
      this.#append(Buffer.from(`${this.#token}${this.#count++}"`))
      this.#kept = end
      this.#wanted = null
    }
    return end
  }

  #skipString(piece: Buffer, start: number): number {
    let at = start
    if (this.#isEscaped) {
      this.#isEscaped = false
      at++
    }
    while (at < piece.length && piece[at] !== QUOTE && piece[at] !== BACKSLASH) at++
    if (at === piece.length) return at // reading past the end would make the loop above slow from then on
    if (piece[at] === BACKSLASH) {
      this.#isEscaped = true
    } else {
      this.#isInString = false
      if (this.#key_start !== null) this.#endKey(piece, at, this.#key_start)
    }
    return at + 1
  }

  #endKey(piece: Buffer, at: number, start: number): void {
    const length = this.#skeleton.length + at - this.#kept - start
    if (length > this.#path.longest_key) return
    this.#keep(piece, at)
    this.#path.key(this.#skeleton.latin1(start))
  }

  #keep(piece: Buffer, end: number): void {
    this.#append(piece, this.#kept, end)
    this.#kept = end
  }

  #append(source: Buffer, start = 0, end = source.length): void {
    const max = this.#options.max_bytes
    if (this.#skeleton.length + end - start > max) throw new TooLargeError(`more than ${max} bytes`)
    this.#skeleton.append(source, start, end)
  }
}
