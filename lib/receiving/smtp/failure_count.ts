/** Maximum number of addresses that are counted; then all counts are forgotten. */
const MAX_KNOWN = 10_000

/** Counts failures per address within a time. `isOver` becomes true after `max` of them. */
export class FailureCount {
  readonly #max: number
  readonly #ms: number
  readonly #failures = new Map<string, { count: number; until: number }>()

  constructor(max: number, ms: number) {
    this.#max = max
    this.#ms = ms
  }

  isOver(address: string): boolean {
    const failures = this.#failures.get(address)
    return failures !== undefined && failures.until > performance.now() && failures.count >= this.#max
  }

  add(address: string): void {
    const now = performance.now()
    const known = this.#failures.get(address)
    if (this.#failures.size >= MAX_KNOWN) this.#failures.clear()
    const count = known && known.until > now ? known.count : 0
    this.#failures.set(address, { count: count + 1, until: now + this.#ms })
  }
}
