/** Keys from the root down, in ASCII; `*` stands for every element of an array. */
export type JsonPath = readonly string[]

const EVERY = '*'

/**
 * Follows paths through the tokens of a JSON text. It keeps the open containers on a path, and only the number of all others,
 * however deep they are. For a text that is not JSON the results are arbitrary.
 */
export class PathTracker {
  /** Longest key, as written in the text, that can be on a path: `\u0061` for each character. */
  readonly longest_key: number
  readonly #paths: readonly JsonPath[]
  /** The paths that lead into each open container, from the root down. */
  readonly #open: JsonPath[][] = []
  /** Number of open containers that no path leads into, in the innermost one of `#open`. */
  #beside = 0
  #isValue = false
  #key: string | null = null

  constructor(paths: readonly JsonPath[]) {
    this.#paths = paths
    this.longest_key = 6 * Math.max(...paths.flat().map(key => key.length))
  }

  open(isArray: boolean): void {
    if (this.#beside > 0) {
      this.#beside++
      return
    }
    const depth = this.#open.length
    const inside = this.#pathsHere().filter(path => path.length > depth && (path[depth] === EVERY) === isArray)
    if (inside.length > 0) this.#open.push(inside)
    else this.#beside = 1
    this.comma()
  }

  close(): void {
    if (this.#beside > 0) this.#beside--
    else this.#open.pop()
  }

  colon(): void {
    this.#isValue = true
  }

  comma(): void {
    this.#isValue = false
    this.#key = null
  }

  /** Returns the path of the string that begins here; 'key' if it is the key of a member, null for any other string. */
  nextString(): JsonPath | 'key' | null {
    const depth = this.#open.length
    if (this.#beside > 0 || depth === 0) return null
    const path = this.#pathsHere().find(({ length }) => length === depth)
    if (path) return path
    return this.#isValue || this.#open[depth - 1]?.[0]?.[depth - 1] === EVERY ? null : 'key'
  }

  /** Sets the key of the member that begins here, as written between its quotes. */
  key(written: string): void {
    this.#key = written.includes('\\') ? unquote(written) : written
  }

  /** Lists the paths that lead to, or through, the value that begins here. */
  #pathsHere(): readonly JsonPath[] {
    const depth = this.#open.length
    if (depth === 0) return this.#paths
    const inside = this.#open[depth - 1] as JsonPath[]
    return inside.filter(path => path[depth - 1] === EVERY || (this.#isValue && path[depth - 1] === this.#key))
  }
}

function unquote(written: string): string | null {
  try {
    return JSON.parse(`"${written}"`)
  } catch {
    return null // JSON.parse of the whole text will fail as well
  }
}
