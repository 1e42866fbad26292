import { TimeSlice } from '#lib/async/time_slice.ts'

/** Approximate number of characters per piece. */
const PIECE = 64 * 1024

/**
 * Yields the result of JSON.stringify in pieces. `isSorted`: with the keys of each object sorted by UTF-16 units. Recursive: the
 * caller limits the depth. A value without JSON becomes null; as a member it is left out.
 */
export function* jsonPieces(value: unknown, isSorted = false): Generator<string, void> {
  const writer = new Writer(isSorted)
  yield* writer.write(value)
  yield writer.text
}

/**
 * Returns `jsonPieces` as UTF-8, sharing the event loop: JSON.stringify of ten megabytes takes 40 ms, and encoding it 20 more.
 */
export async function encodeJson(value: unknown, slice: TimeSlice = new TimeSlice()): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (const piece of jsonPieces(value)) {
    pieces.push(Buffer.from(piece))
    if (slice.isOver) await slice.pause()
  }
  return Buffer.concat(pieces)
}

class Writer {
  text = ''
  readonly #isSorted: boolean

  constructor(isSorted: boolean) {
    this.#isSorted = isSorted
  }

  /** Yields text that is long enough for a piece; the rest stays in `text`. */
  *write(given: unknown): Generator<string, void> {
    const value = hasToJson(given) ? given.toJSON() : given
    if (typeof value === 'string') yield* this.#writeString(value)
    else if (Array.isArray(value)) yield* this.#writeItems(value)
    else if (typeof value === 'object' && value !== null) yield* this.#writeMembers(value as Record<string, unknown>)
    else this.text += JSON.stringify(value) ?? 'null'
    if (this.text.length >= PIECE) yield this.#take()
  }

  *#writeString(text: string): Generator<string, void> {
    if (text.length <= PIECE) {
      this.text += JSON.stringify(text)
      return
    }
    this.text += '"'
    for (let start = 0; start < text.length; ) {
      const end = endOfPiece(text, start)
      this.text += JSON.stringify(text.slice(start, end)).slice(1, -1)
      yield this.#take()
      start = end
    }
    this.text += '"'
  }

  *#writeItems(items: unknown[]): Generator<string, void> {
    this.text += '['
    for (const [i, item] of items.entries()) {
      if (i > 0) this.text += ','
      yield* this.write(item)
    }
    this.text += ']'
  }

  *#writeMembers(members: Record<string, unknown>): Generator<string, void> {
    const keys = Object.keys(members)
    if (this.#isSorted) keys.sort()
    let separator = '{'
    for (const key of keys) {
      const member = members[key]
      if (member === undefined) continue
      this.text += `${separator}${JSON.stringify(key)}:`
      separator = ','
      if (isPlain(member)) this.text += JSON.stringify(member)
      else yield* this.write(member)
    }
    this.text += separator === '{' ? '{}' : '}'
  }

  #take(): string {
    const { text } = this
    this.text = ''
    return text
  }
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= 1_000 : typeof value === 'number' || typeof value === 'boolean'
}

/** Returns the end of a piece that does not split a surrogate pair. */
function endOfPiece(text: string, start: number): number {
  const end = Math.min(start + PIECE, text.length)
  const [high, low] = [text.charCodeAt(end - 1), text.charCodeAt(end)]
  const isCut = high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000
  return isCut ? end + 1 : end
}
