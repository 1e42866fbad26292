type Waiter = { permits: number; resolve: () => void }

/**
 * A fixed number of permits that callers share, such as connections or bytes. A caller that asks for more than are free waits.
 * Permits are granted strictly in order of arrival, so that small requests cannot starve a large one.
 */
export class Semaphore {
  readonly #total: number
  #free: number
  readonly #waiting = new Set<Waiter>()

  constructor(total: number) {
    this.#total = total
    this.#free = total
  }

  get free(): number {
    return this.#free
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Waits for permits. A number above the total counts as the total, here and in `release`. Rejects with the signal's reason if
   * it is aborted first (the client disconnected); then there is nothing to release.
   */
  async acquire(permits = 1, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.tryAcquire(permits)) return
    const wanted = this.#cap(permits)
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        this.#waiting.delete(waiter)
        reject(signal?.reason)
        this.#admit() // the next callers may fit
      }
      const waiter = {
        permits: wanted,
        resolve: () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.add(waiter)
    })
  }

  /** Takes the permits if they are free and no caller is waiting; returns whether it did. */
  tryAcquire(permits = 1): boolean {
    const wanted = this.#cap(permits)
    if (this.#waiting.size > 0 || wanted > this.#free) return false
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

  #admit(): void {
    for (const waiter of this.#waiting) {
      if (waiter.permits > this.#free) return
      this.#waiting.delete(waiter)
      this.#free -= waiter.permits
      waiter.resolve()
    }
  }

  #cap(permits: number): number {
    if (!(permits >= 0)) throw new RangeError(`${permits} permits`)
    return Math.min(permits, this.#total)
  }
}
