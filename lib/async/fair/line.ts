/** The items of one key in a FairQueue. Items in `later` wait behind all in `waiting`. */
export class FairLine<T> {
  readonly waiting: T[] = []
  readonly later: T[] = []
  /** Slots that the key holds, and how many of them were taken while it was unproven. */
  active = 0
  unproven = 0
  parked = 0
  aside = 0

  get count(): number {
    return this.waiting.length + this.later.length + this.active + this.parked
  }

  get isEmpty(): boolean {
    return this.count + this.aside === 0
  }

  /** Removes and returns all waiting items. */
  clear(): T[] {
    return [...this.waiting.splice(0), ...this.later.splice(0)]
  }
}

/** The usual share of slots. */
export function half(slots: number): number {
  return Math.ceil(slots / 2)
}

/**
 * Tells whether this weight fits into the slots in addition to those taken. An item heavier than all slots fits if none is taken.
 */
export function fits(weight: number, taken: number, slots: number): boolean {
  return taken === 0 || taken + weight <= slots
}
