/** Keys from the root down, in ASCII; `*` is every element of an array. */
export type JsonPath = readonly string[]

const EVERY = '*'

/**
 * Follows a path through the tokens of a JSON text: it needs to know the containers that lie on the path, and of all
 * others only how many are open, however deep they go. Of a text that is not JSON it may say anything.
 */
export class PathTracker {
  /** No key that is longer, in characters of the text, can be one of the path: `\u0061` for each character. */
  readonly longest_key: number
  readonly #paths: readonly JsonPath[]
  #path: JsonPath = []
  #depth = 0
  #beside = 0
  #isValue = false
  #isNamed = false

  /** One of the paths at most begins with `*`, and one with a key: the root of the text decides between them. */
  constructor(paths: readonly JsonPath[]) {
    this.#paths = paths
    this.longest_key = 6 * Math.max(...paths.flat().map(key => key.length))
  }

  open(isArray: boolean): void {
    if (this.#beside > 0) {
      this.#beside++
      return
    }
    if (this.#depth === 0) this.#path = this.#paths.find(path => (path[0] === EVERY) === isArray) ?? []
    const step = this.#path[this.#depth]
    const fits = step !== undefined && (step === EVERY) === isArray
    if (fits && (this.#depth === 0 || this.#isOnPath())) this.#depth++
    else this.#beside = 1
    this.comma()
  }

  close(): void {
    if (this.#beside > 0) this.#beside--
    else if (this.#depth > 0) this.#depth--
  }

  colon(): void {
    this.#isValue = true
  }

  comma(): void {
    this.#isValue = false
    this.#isNamed = false
  }

  /** What a string is that begins here. */
  nextString(): 'key' | 'wanted' | 'other' {
    if (this.#beside > 0 || this.#depth === 0) return 'other'
    if (this.#depth === this.#path.length && this.#isOnPath()) return 'wanted'
    return this.#isValue || this.#path[this.#depth - 1] === EVERY ? 'other' : 'key'
  }

  /** The key of the member that begins here, as it is written between its quotes. */
  key(written: string): void {
    const key = this.#path[this.#depth - 1]
    this.#isNamed = written === key || (written.includes('\\') && unquote(written) === key)
  }

  #isOnPath(): boolean {
    return this.#path[this.#depth - 1] === EVERY || (this.#isValue && this.#isNamed)
  }
}

function unquote(written: string): string | null {
  try {
    return JSON.parse(`"${written}"`)
  } catch {
    return null // it will fail in the whole text as well
  }
}
