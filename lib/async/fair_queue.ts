/** Of `active` slots so many were taken while it was unproven. */
type Lane<T> = { waiting: T[]; active: number; unproven: number; parked: number; aside: number }

/** How many slots a destination may hold, those set aside included, and whether it is known to give them back soon. */
export type Share = { slots: number; isProven: boolean }

/**
 * A queue in memory that is fair to destinations: turns go round among them, and none may hold more than its share of
 * the slots, so that a destination that answers slowly delays only its own mail. With `weigh` an item takes several;
 * what is heavier than its destination's share waits until that has none, what is heavier than all goes alone.
 *
 * With a function for the share, each destination besides holds no more than is free: the next one finds some left. And
 * those that are unproven hold half of all together, however many they are. Null is for the usual share of those that are
 * not looked at so closely.
 */
export class FairQueue<T> {
  readonly #lanes = new Map<string, Lane<T>>()
  readonly #slots: number
  readonly #share: number | ((destination: string) => Share | null)
  readonly #weigh: (item: T) => number
  #active = 0
  #unproven = 0

  /** Half of the slots are for one destination at most. */
  constructor(
    slots: number,
    share: number | ((destination: string) => Share | null) = half(slots),
    weigh: (item: T) => number = () => 1,
  ) {
    this.#slots = slots
    this.#share = share
    this.#weigh = weigh
  }

  push(destination: string, item: T): void {
    this.#lane(destination).waiting.push(item)
  }

  /** Slots that are taken. */
  get active(): number {
    return this.#active
  }

  /** The next item that has its slots, which it holds until `free` or `park`. */
  take(): T | null {
    if (this.#active >= this.#slots) return null
    for (const [destination, lane] of this.#lanes) {
      if (lane.waiting.length === 0) continue
      const weight = this.#weigh(lane.waiting[0] as T)
      const { slots, isProven } = this.#shareOf(destination, lane.aside)
      if (!fits(weight, lane.active, slots)) continue
      if (!isProven && !fits(weight, this.#unproven, half(this.#slots))) continue
      // What is lighter does not overtake it, or it would wait for ever.
      if (!fits(weight, this.#active, this.#slots)) return null
      // To the end of the map, which is the order of turns.
      this.#lanes.delete(destination)
      this.#lanes.set(destination, lane)
      lane.active += weight
      this.#active += weight
      if (!isProven) {
        lane.unproven += weight
        this.#unproven += weight
      }
      return lane.waiting.shift() as T
    }
    return null
  }

  free(destination: string, weight = 1): void {
    const lane = this.#lanes.get(destination)
    if (!lane) throw new Error(`no slot of ${destination} is taken`)
    lane.active -= weight
    this.#active -= weight
    const unproven = Math.min(lane.unproven, weight)
    lane.unproven -= unproven
    this.#unproven -= unproven
    this.#drop(destination, lane)
  }

  /** Frees the slot of an item that still counts as its destination's, until `unpark`. */
  park(destination: string): void {
    this.#lane(destination).parked++
    this.free(destination)
  }

  unpark(destination: string): void {
    const lane = this.#lane(destination)
    lane.parked--
    this.#drop(destination, lane)
  }

  /** Frees the slot of an item that may take very long, until `endAside`. It is left out of `count` from now on. */
  setAside(destination: string): void {
    this.#lane(destination).aside++
    this.free(destination)
  }

  endAside(destination: string): void {
    const lane = this.#lane(destination)
    lane.aside--
    this.#drop(destination, lane)
  }

  /** Items of a destination: waiting, active or parked. */
  count(destination: string): number {
    const lane = this.#lanes.get(destination)
    return lane ? lane.waiting.length + lane.active + lane.parked : 0
  }

  /** Destinations with at least so many items. */
  busy(count: number): string[] {
    return [...this.#lanes.keys()].filter(destination => this.count(destination) >= count)
  }

  /** Takes out everything that waits. */
  clear(): T[] {
    const items: T[] = []
    for (const [destination, lane] of this.#lanes) {
      items.push(...lane.waiting.splice(0))
      this.#drop(destination, lane)
    }
    return items
  }

  /** With a limit of its own, a destination knows of the items set aside: its server sees their connections. */
  #shareOf(destination: string, aside: number): Share {
    if (typeof this.#share === 'number') return { slots: this.#share, isProven: true }
    const share = this.#share(destination)
    if (!share) return { slots: half(this.#slots), isProven: true }
    return { slots: Math.min(share.slots - aside, this.#slots - this.#active), isProven: share.isProven }
  }

  #lane(destination: string): Lane<T> {
    const found = this.#lanes.get(destination)
    if (found) return found
    const lane: Lane<T> = { waiting: [], active: 0, unproven: 0, parked: 0, aside: 0 }
    this.#lanes.set(destination, lane)
    return lane
  }

  #drop(destination: string, lane: Lane<T>): void {
    if (lane.active + lane.parked + lane.aside + lane.waiting.length === 0) this.#lanes.delete(destination)
  }
}

function half(slots: number): number {
  return Math.ceil(slots / 2)
}

function fits(weight: number, taken: number, slots: number): boolean {
  return taken === 0 || taken + weight <= slots
}
