import { countBatch } from './take_batch.ts'

export type WriteBehindOptions<Item> = {
  /**
   * Longest time that an item waits for others before a batch that is not full is written, if no write is under way. After a
   * failure the pause is ten times as long.
   */
  interval_ms: number
  /** Maximum number of items per write. */
  max_items: number
  /** Maximum weight per write. */
  max_weight: number
  weigh: (item: Item) => number
  /** Maximum weight that may wait; further items are dropped. */
  max_waiting: number
  /** Called for the first of several failed writes in a row. The items wait for the next write. */
  onFailure: (error: unknown) => void
  /** Called with the number of dropped items when a write succeeds again, and by `stop`. */
  onDropped: (count: number) => void
}

export type WriteBehind<Item> = {
  add(item: Item): void
  /** Writes the waiting items, and gives up at the first failure. */
  stop(): Promise<void>
}

/**
 * Writes items in batches in the background: one write at a time, retried until it succeeds. If a write succeeded but its reply
 * was lost, its items are written twice.
 */
export function writeBehind<Item>(
  write: (items: Item[]) => Promise<void>,
  options: WriteBehindOptions<Item>,
): WriteBehind<Item> {
  return new Writer(write, options)
}

class Writer<Item> implements WriteBehind<Item> {
  readonly #write: (items: Item[]) => Promise<void>
  readonly #options: WriteBehindOptions<Item>
  readonly #waiting: Item[] = []
  #weight = 0
  /** Number of items of the write under way, which are the first in `#waiting`. */
  #writing_count = 0
  /** When the first item was added that is not part of the write under way. */
  #oldest_at = 0
  #dropped = 0
  #isFailing = false
  #isBusy = false
  #isPausing = false
  #isStopped = false
  #timer: NodeJS.Timeout | undefined
  #writing = Promise.resolve()

  constructor(write: (items: Item[]) => Promise<void>, options: WriteBehindOptions<Item>) {
    this.#write = write
    this.#options = options
  }

  add(item: Item): void {
    const weight = this.#options.weigh(item)
    if (this.#isStopped || this.#weight + weight > this.#options.max_waiting) {
      this.#dropped++
      return
    }
    if (this.#waiting.length === this.#writing_count) this.#oldest_at = performance.now()
    this.#waiting.push(item)
    this.#weight += weight
    this.#writeLater()
    if (this.#waiting.length >= this.#options.max_items) this.#writeNow()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#writing
    await this.#writeWaiting()
    this.#dropped += this.#waiting.splice(0).length
    this.#reportDropped()
  }

  #writeLater(): void {
    if (this.#isBusy || this.#isStopped || this.#waiting.length === 0) return
    this.#isBusy = true
    this.#isPausing = true
    const { interval_ms } = this.#options
    const rest = Math.max(0, this.#oldest_at + interval_ms - performance.now())
    this.#timer = setTimeout(() => this.#start(), this.#isFailing ? interval_ms * 10 : rest).unref()
  }

  /** Writes without waiting for the interval, since the batch is full; unless the last write failed. */
  #writeNow(): void {
    if (!this.#isPausing || this.#isFailing) return
    clearTimeout(this.#timer)
    this.#start()
  }

  #start(): void {
    this.#isPausing = false
    this.#writing = this.#writeWaiting().finally(() => {
      this.#isBusy = false
      this.#writeLater()
    })
  }

  /** Writes all full batches, then at most one that is not full; after `stop`, everything. */
  async #writeWaiting(): Promise<void> {
    for (let isFull = true; isFull && this.#waiting.length > 0; ) {
      const count = countBatch(this.#waiting, this.#options)
      isFull = count < this.#waiting.length || this.#isStopped
      this.#writing_count = count
      try {
        await this.#write(this.#waiting.slice(0, count))
      } catch (error) {
        this.#writing_count = 0
        if (!this.#isFailing) this.#options.onFailure(error)
        this.#isFailing = true
        return
      }
      this.#isFailing = false
      this.#writing_count = 0
      for (const item of this.#waiting.splice(0, count)) this.#weight -= this.#options.weigh(item)
      this.#reportDropped()
    }
  }

  #reportDropped(): void {
    if (this.#dropped > 0) this.#options.onDropped(this.#dropped)
    this.#dropped = 0
  }
}
