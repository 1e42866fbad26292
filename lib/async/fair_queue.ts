import { FairLine, fits, half } from './fair/line.ts'

/** The slots that a key may hold, including those set aside, and whether it is known to release them soon. */
export type Share = { slots: number; isProven: boolean }

type ShareOf = (key: string) => Share | null

type Options<T> = { weigh?: (item: T) => number; isLater?: (item: T) => boolean; laterSlots?: () => number }

/**
 * A queue in memory that is fair to keys (destinations, accounts). Keys take turns, and each holds at most its share of the
 * slots, usually half of them, so a destination that responds slowly delays only its own mail. With `weigh` an item takes several
 * slots. An item heavier than its key's share waits until the key holds none; one heavier than all slots goes alone.
 * With a function for the share, a key also holds at most as many slots as are free, so that the next key finds some, and all
 * unproven keys together hold at most half of the slots. A share of null means half of the slots without these two limits.
 * Items for which `isLater` returns true go only if no other item of any key can go, and while fewer than `laterSlots()` slots are
 * taken.
 */
export class FairQueue<T> {
  readonly #queues = new Map<string, FairLine<T>>()
  readonly #slots: number
  readonly #share: number | ShareOf
  readonly #weigh: (item: T) => number
  readonly #isLater: (item: T) => boolean
  readonly #laterSlots: () => number
  #active = 0
  #unproven = 0

  constructor(
    slots: number,
    share: number | ShareOf = half(slots),
    { weigh = () => 1, isLater = () => false, laterSlots = () => slots }: Options<T> = {},
  ) {
    this.#isLater = isLater
    this.#laterSlots = laterSlots
    this.#slots = slots
    this.#share = share
    this.#weigh = weigh
  }

  push(key: string, item: T): void {
    this.#queueOf(key)[this.#isLater(item) ? 'later' : 'waiting'].push(item)
  }

  /** Number of taken slots. */
  get active(): number {
    return this.#active
  }

  /** Returns the next item, which holds its slots until `free`, `park` or `setAside`; null if none may go. */
  take(): T | null {
    return this.#takeFrom('waiting') ?? this.#takeFrom('later')
  }

  #takeFrom(line: 'waiting' | 'later'): T | null {
    if (this.#active >= (line === 'later' ? this.#laterSlots() : this.#slots)) return null
    for (const [key, queue] of this.#queues) {
      if (queue[line].length === 0) continue
      const weight = this.#weigh(queue[line][0] as T)
      const { slots, isProven } = this.#shareOf(key, queue.aside)
      if (!fits(weight, queue.active, slots)) continue
      if (!isProven && !fits(weight, this.#unproven, half(this.#slots))) continue
      // A lighter item must not overtake it, or it would wait for ever.
      if (!fits(weight, this.#active, this.#slots)) return null
      // Moves the key to the end of the map, whose order is the order of turns.
      this.#queues.delete(key)
      this.#queues.set(key, queue)
      queue.active += weight
      this.#active += weight
      const unproven = isProven ? 0 : weight
      queue.unproven += unproven
      this.#unproven += unproven
      return queue[line].shift() as T
    }
    return null
  }

  free(key: string, weight = 1): void {
    const queue = this.#queues.get(key)
    if (!queue) throw new Error(`no slot of ${key} is taken`)
    queue.active -= weight
    this.#active -= weight
    const unproven = Math.min(queue.unproven, weight)
    queue.unproven -= unproven
    this.#unproven -= unproven
    this.#dropIfEmpty(key, queue)
  }

  /** Frees the slot of an item that `count` still counts until `unpark`. */
  park(key: string): void {
    this.#queueOf(key).parked++
    this.free(key)
  }

  unpark(key: string): void {
    const queue = this.#queueOf(key)
    queue.parked--
    this.#dropIfEmpty(key, queue)
  }

  /** Frees the slot of an item that may take very long, and that `count` no longer counts. `endAside` ends this. */
  setAside(key: string): void {
    this.#queueOf(key).aside++
    this.free(key)
  }

  endAside(key: string): void {
    const queue = this.#queueOf(key)
    queue.aside--
    this.#dropIfEmpty(key, queue)
  }

  /** Number of items of a key: waiting, active or parked. */
  count(key: string): number {
    return this.#queues.get(key)?.count ?? 0
  }

  /** Keys with at least this many items. */
  busy(count: number): string[] {
    return [...this.#queues.keys()].filter(key => this.count(key) >= count)
  }

  /** Removes and returns all waiting items. */
  clear(): T[] {
    const items: T[] = []
    for (const [key, queue] of this.#queues) {
      items.push(...queue.clear())
      this.#dropIfEmpty(key, queue)
    }
    return items
  }

  /** Subtracts the items set aside from the key's own share, since its server sees their connections. */
  #shareOf(key: string, aside: number): Share {
    if (typeof this.#share === 'number') return { slots: this.#share, isProven: true }
    const share = this.#share(key)
    if (!share) return { slots: half(this.#slots), isProven: true }
    return { slots: Math.min(share.slots - aside, this.#slots - this.#active), isProven: share.isProven }
  }

  #queueOf(key: string): FairLine<T> {
    const queue = this.#queues.get(key) ?? new FairLine<T>()
    this.#queues.set(key, queue)
    return queue
  }

  #dropIfEmpty(key: string, queue: FairLine<T>): void {
    if (queue.isEmpty) this.#queues.delete(key)
  }
}
