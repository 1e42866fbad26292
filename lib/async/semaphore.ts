type Waiter = { permits: number; resolve: () => void }

/**
 * A fixed number of permits that callers share, such as connections or bytes. A caller that asks for more than are free waits.
 * Permits are granted strictly in order of arrival, so that small requests cannot starve a large one; callers of
 * `acquireFirst` go before all others.
 */
export class Semaphore {
  readonly #total: number
  #free: number
  readonly #first = new Set<Waiter>()
  readonly #others = new Set<Waiter>()

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  get free(): number {
    return this.#free
  }

  get waiting(): number {
    return this.#first.size + this.#others.size
  }

  /**
   * Waits for permits. A number above the total counts as the total, here and in `release`. Rejects with the signal's reason if
   * it is aborted first (the client disconnected); then there is nothing to release.
   */
  async acquire(permits = 1, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (!this.tryAcquire(permits)) await this.#wait(this.#others, this.#cap(permits), signal)
  }

  /** Waits for one permit, before all callers of `acquire`. */
  async acquireFirst(): Promise<void> {
    if (!this.tryAcquire()) await this.#wait(this.#first, this.#cap(1))
  }

  /** Takes the permits if they are free and no caller is waiting; returns whether it did. */
  tryAcquire(permits = 1): boolean {
    const wanted = this.#cap(permits)
    if (this.waiting > 0 || wanted > this.#free) return false
    this.#free -= wanted
    return true
  }

  /** Gives back acquired permits; pass the number that was passed to `acquire`. */
  release(permits = 1): void {
    const free = this.#free + this.#cap(permits)
    if (free > this.#total) throw new RangeError('more was released than acquired')
    this.#free = free
    this.#admit()
  }

  #wait(line: Set<Waiter>, permits: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        line.delete(waiter)
        reject(signal?.reason)
        this.#admit() // the next callers may fit
      }
      const waiter = {
        permits,
        resolve: () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      line.add(waiter)
    })
  }

  #admit(): void {
    for (const line of [this.#first, this.#others]) {
      for (const waiter of line) {
        if (waiter.permits > this.#free) return
        line.delete(waiter)
        this.#free -= waiter.permits
        waiter.resolve()
      }
    }
  }

  #cap(permits: number): number {
    if (!(permits >= 0)) throw new RangeError(`${permits} permits`)
    return Math.min(permits, this.#total)
  }
}
