import { LRUCache } from 'lru-cache'

const PER_MS = 60 * 60_000
/** The names that were counted last are kept. A cache with `max` takes the room for all of them at once; one with `maxSize` grows. */
const COUNTED = { maxSize: 100_000, sizeCalculation: () => 1, ttl: PER_MS }

/** How often per hour and recipient anything is written that links without a key ask for. */
export const RECIPIENT_CAP = 1_000

/** Counts by name what may happen so many times within an hour of the first time, in this process. */
export class HourlyCap {
  readonly #most: number
  readonly #counts = new LRUCache<string, { count: number }>(COUNTED)

  constructor(most: number) {
    this.#most = most
  }

  isReached(name: string): boolean {
    return (this.#counts.get(name)?.count ?? 0) >= this.#most
  }

  /** Returns by how much the count is above the cap. */
  add(name: string, by = 1): number {
    const counted = this.#counts.get(name) ?? { count: 0 }
    if (counted.count === 0) this.#counts.set(name, counted)
    counted.count += by
    return counted.count - this.#most
  }
}
