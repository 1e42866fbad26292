import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './bytes.ts'

/** Limits of a JSON text. Keys and values are counted by the characters before them: `[`, `{`, `,` and `:`. */
export type JsonLimits = {
  /** Levels of nesting: an object with plain values only has one. */
  depth: number
  /** Keys and values of the text, or of one item if the text is an array. */
  values: number
  /** Keys and values of all items of an array. */
  total: number
}

export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError'
}

/**
 * Scans a JSON text before it is parsed: JSON.parse takes a second and 500 MB for ten megabytes of brackets. It only counts;
 * JSON.parse decides whether the text is valid.
 */
export class JsonScanner {
  /** If the text is an array: the positions of its opening bracket, its commas and its closing bracket. */
  readonly cuts: number[] = []
  readonly #bytes: Buffer
  readonly #limits: JsonLimits
  #at = 0
  #depth = 0
  #values = 0
  #total = 0
  #isInString = false
  #isArray: boolean | null = null

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Null if the text is neither an array nor an object. */
  get isArray(): boolean | null {
    return this.#isArray
  }

  /** @throws {JsonLimitError} */
  scan(length: number): void {
    const end = Math.min(this.#at + length, this.#bytes.length)
    while (this.#at < end) this.#at = this.#isInString ? this.#skipString(end) : this.#skipStructure(end)
  }

  #skipString(end: number): number {
    const bytes = this.#bytes
    let at = this.#at
    while (at < end) {
      const byte = bytes[at++]
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) {
        this.#isInString = false
        break
      }
    }
    return at
  }

  #skipStructure(end: number): number {
    const bytes = this.#bytes
    for (let at = this.#at; at < end; at++) {
      const byte = bytes[at]
      if (byte === QUOTE) {
        this.#isInString = true
        return at + 1
      }
      if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.#open(at, byte === OPEN_ARRAY)
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.#close(at)
      else if (byte === COMMA) this.#comma(at)
      else if (byte === COLON) this.#count()
    }
    return end
  }

  #open(at: number, isArray: boolean): void {
    if (this.#isArray === null) {
      this.#isArray = isArray
      if (isArray) this.cuts.push(at)
    }
    if (++this.#depth > this.#limits.depth) {
      throw new JsonLimitError(`is nested deeper than ${this.#limits.depth} levels`)
    }
    this.#count()
  }

  #close(at: number): void {
    if (this.#depth === 1 && this.#isArray) this.cuts.push(at)
    if (this.#depth > 0) this.#depth--
  }

  #comma(at: number): void {
    if (this.#depth === 1 && this.#isArray) {
      this.cuts.push(at)
      this.#values = 0
    }
    this.#count()
  }

  #count(): void {
    const { values, total } = this.#limits
    if (++this.#values > values)
      throw new JsonLimitError(`has more than ${values.toLocaleString('en')} keys and values`)
    if (++this.#total > total) throw new JsonLimitError(`has more than ${total.toLocaleString('en')} keys and values`)
  }
}
