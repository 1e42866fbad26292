import { LRUCache } from 'lru-cache'

const HOUR_MS = 60 * 60_000
/** Keeps the most recent names. With `max` the cache would allocate all its memory at once; with `maxSize` it grows. */
const CACHE = { maxSize: 100_000, sizeCalculation: () => 1, ttl: HOUR_MS }

/** Maximum number of writes per hour and recipient that are caused by links that work without an API key. */
export const RECIPIENT_CAP = 1_000

/** Counts events by name, in this process. A count starts with the first event of its name and is reset an hour later. */
export class HourlyCap {
  readonly #most: number
  readonly #counts = new LRUCache<string, { count: number }>(CACHE)

  constructor(most: number) {
    this.#most = most
  }

  isReached(name: string): boolean {
    return (this.#counts.get(name)?.count ?? 0) >= this.#most
  }

  /** Returns by how much the count is now above the cap; negative below it. */
  add(name: string, by = 1): number {
    const counted = this.#counts.get(name) ?? { count: 0 }
    if (counted.count === 0) this.#counts.set(name, counted)
    counted.count += by
    return counted.count - this.#most
  }
}
