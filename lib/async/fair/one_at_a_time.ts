/**
 * Runs calls with the same key one after the other, in the order in which they came, so that calls that would wait for the same
 * row of the database hold one connection and not all of them. Calls with different keys run at the same time.
 */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>()

  run<Result>(key: string, call: () => Promise<Result>): Promise<Result> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(call)
    const settled = result
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key)
      })
    this.#last.set(key, settled)
    return result
  }

  /** Number of keys with calls that run or wait. */
  get size(): number {
    return this.#last.size
  }
}
