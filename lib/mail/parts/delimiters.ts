/** A delimiter line (RFC 2046 5.1.1), from its hyphens to the next line. `level` is that of its multipart. */
export type Delimiter = { start: number; next: number; level: number; isClose: boolean }

const LF = 10
const CR = 13
const TAB = 9
const SPACE = 32
const HYPHENS = Buffer.from('\n--')
/** RFC 2046 allows 70. */
const MAX_BOUNDARY = 1_000

/**
 * The boundaries of the open multiparts, the outermost first. A delimiter line may belong to any of them (RFC 2046 5.1.2): one of
 * an outer multipart ends the inner ones, whose last delimiter line is then missing.
 */
export class Delimiters {
  readonly #raw: Buffer
  readonly #boundaries: string[] = []
  /** The levels of each boundary, since some senders use the same one for a multipart and another inside it. */
  readonly #levels = new Map<string, number[]>()
  /** True after the last delimiter line of the innermost multipart. */
  #isClosed = false

  constructor(raw: Buffer) {
    this.#raw = raw
  }

  get depth(): number {
    return this.#boundaries.length
  }

  /** Enters a multipart. `boundary` has one character per byte. */
  open(boundary: string): void {
    // White space at the end is padding, here as in the delimiter lines.
    const trimmed = boundary.slice(0, MAX_BOUNDARY).replace(/\s{1,1000}$/, '')
    const levels = this.#levels.get(trimmed)
    if (levels) levels.push(this.depth)
    else this.#levels.set(trimmed, [this.depth])
    this.#boundaries.push(trimmed)
    this.#isClosed = false
  }

  /** Leaves all multiparts inside of the level. `isClosed`: the level itself is closed. */
  leave(level: number, isClosed: boolean): void {
    while (this.depth > level + 1) {
      const boundary = this.#boundaries.pop() as string
      const levels = this.#levels.get(boundary) as number[]
      levels.pop()
      if (levels.length === 0) this.#levels.delete(boundary)
    }
    this.#isClosed = isClosed
  }

  /** Returns the next delimiter line at or after the beginning of a line. Linear in the bytes up to there. */
  find(from: number): Delimiter | null {
    if (this.depth === 0) return null
    for (let start = this.#hyphensAt(from); start !== -1; start = this.#hyphensAt(start + 2)) {
      const found = this.at(start)
      if (found) return found
    }
    return null
  }

  /** Parses the line that begins here; null if it is not a delimiter. */
  at(start: number): Delimiter | null {
    const raw = this.#raw
    if (raw[start] !== 45 || raw[start + 1] !== 45) return null
    const lineFeed = raw.indexOf(LF, start)
    const next = lineFeed === -1 ? raw.length : lineFeed + 1
    let end = next
    while (end > start && isPadding(raw[end - 1])) end--
    if (end - start > MAX_BOUNDARY + 4) return null
    const text = raw.toString('latin1', start + 2, end)
    const level = this.#levelOf(text)
    if (level !== -1) return { start, next, level, isClose: false }
    const closed = text.endsWith('--') ? this.#levelOf(text.slice(0, -2).trimEnd()) : -1
    return closed === -1 ? null : { start, next, level: closed, isClose: true }
  }

  /** Returns the level of the innermost open multipart with this boundary; that of a closed one only if there is no other. */
  #levelOf(boundary: string): number {
    const levels = this.#levels.get(boundary)
    if (!levels) return -1
    const isLastClosed = this.#isClosed && levels.at(-1) === this.depth - 1
    return levels.at(isLastClosed && levels.length > 1 ? -2 : -1) as number
  }

  /** Returns the position of the next two hyphens at the beginning of a line. */
  #hyphensAt(from: number): number {
    const raw = this.#raw
    const isLineBegin = from === 0 || raw[from - 1] === LF
    if (isLineBegin && raw[from] === 45 && raw[from + 1] === 45) return from
    const found = raw.indexOf(HYPHENS, Math.max(from - 1, 0))
    return found === -1 ? -1 : found + 1
  }
}

function isPadding(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === CR || byte === LF
}
