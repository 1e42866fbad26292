type Lane<T> = { waiting: T[]; active: number }

/**
 * A queue in memory that is fair to destinations: turns go round among them, and none may hold more than its share of
 * the slots, so that a destination that answers slowly delays only its own mail.
 */
export class Lanes<T> {
  readonly #lanes = new Map<string, Lane<T>>()
  readonly #slots: number
  readonly #slots_per_lane: number
  #active = 0

  /** Half of the slots are for one destination at most. */
  constructor(slots: number, slots_per_lane: number = Math.ceil(slots / 2)) {
    this.#slots = slots
    this.#slots_per_lane = slots_per_lane
  }

  push(destination: string, item: T): void {
    const lane = this.#lanes.get(destination)
    if (lane) lane.waiting.push(item)
    else this.#lanes.set(destination, { waiting: [item], active: 0 })
  }

  /** Slots that are taken. */
  get active(): number {
    return this.#active
  }

  /** The next item that has a slot, which it holds until `free(destination)`. */
  take(): T | null {
    if (this.#active >= this.#slots) return null
    for (const [destination, lane] of this.#lanes) {
      if (lane.waiting.length === 0 || lane.active >= this.#slots_per_lane) continue
      // To the end of the map, which is the order of turns.
      this.#lanes.delete(destination)
      this.#lanes.set(destination, lane)
      lane.active++
      this.#active++
      return lane.waiting.shift() as T
    }
    return null
  }

  free(destination: string): void {
    const lane = this.#lanes.get(destination)
    if (!lane) throw new Error(`no slot of ${destination} is taken`)
    lane.active--
    this.#active--
    if (lane.active === 0 && lane.waiting.length === 0) this.#lanes.delete(destination)
  }

  /** Destinations with at least so many items, waiting or active. */
  busy(count: number): string[] {
    const busy: string[] = []
    for (const [destination, lane] of this.#lanes)
      if (lane.waiting.length + lane.active >= count) busy.push(destination)
    return busy
  }

  /** Takes out everything that waits. */
  clear(): T[] {
    const items: T[] = []
    for (const [destination, lane] of this.#lanes) {
      items.push(...lane.waiting.splice(0))
      if (lane.active === 0) this.#lanes.delete(destination)
    }
    return items
  }
}
