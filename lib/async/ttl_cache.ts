type Entry<Value> = { value: Value; until: number }

/** A cache of at most `most` values by name, each with its own time to live. The least recently used one is evicted. */
export class TtlCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #most: number
  readonly #now: () => number

  /** @param now a clock in ms that never goes back */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most
    this.#now = now
  }

  get(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    if (!entry) return undefined
    this.#entries.delete(name)
    if (entry.until <= this.#now()) return undefined
    // Moves the entry to the end of the map, whose order is the order of use.
    this.#entries.set(name, entry)
    return entry.value
  }

  set(name: string, value: Value, ms: number): void {
    this.#entries.delete(name)
    this.#entries.set(name, { value, until: this.#now() + ms })
    if (this.#entries.size <= this.#most) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(name: string): void {
    this.#entries.delete(name)
  }
}

/**
 * Returns a function that returns the cached value, or else makes it with `make`. Concurrent callers of one name share one call
 * of `make`. `onSlow` is called if the value is not in the cache.
 */
export function remember<Value>(
  memory: TtlCache<Value>,
  make: (name: string) => Promise<Value>,
  keep_ms: (value: Value) => number,
): (name: string, onSlow?: () => void) => Promise<Value> {
  const pending = new Map<string, Promise<Value>>()
  const start = async (name: string) => {
    try {
      const value = await make(name)
      memory.set(name, value, keep_ms(value))
      return value
    } finally {
      pending.delete(name)
    }
  }
  return async (name, onSlow) => {
    const known = memory.get(name)
    if (known !== undefined) return known
    onSlow?.()
    const made = pending.get(name) ?? start(name)
    pending.set(name, made)
    return made
  }
}
