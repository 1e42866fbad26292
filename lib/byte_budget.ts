type Waiter = { bytes: number; resolve: () => void }

/**
 * Memory that many share: who asks for more than is left waits until it is given back. Strictly in order of arrival, so
 * that small requests cannot keep a large one waiting for ever.
 */
export class ByteBudget {
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
   * More than the whole budget counts as the whole, here and in `release`. Rejects with the signal's reason when it is
   * aborted first (the client went away); then nothing is to be released.
   */
  async acquire(bytes: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const wanted = this.#cap(bytes)
    if (this.#waiting.size === 0 && wanted <= this.#free) {
      this.#free -= wanted
      return
    }
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        this.#waiting.delete(waiter)
        reject(signal?.reason)
        this.#admit() // those behind it may fit
      }
      const waiter = {
        bytes: wanted,
        resolve: () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting.add(waiter)
    })
  }

  /** Gives back what was acquired, by the same number. */
  release(bytes: number): void {
    const free = this.#free + this.#cap(bytes)
    if (free > this.#total) throw new RangeError('more bytes were released than acquired')
    this.#free = free
    this.#admit()
  }

  #admit(): void {
    for (const waiter of this.#waiting) {
      if (waiter.bytes > this.#free) return
      this.#waiting.delete(waiter)
      this.#free -= waiter.bytes
      waiter.resolve()
    }
  }

  #cap(bytes: number): number {
    if (!(bytes >= 0)) throw new RangeError(`${bytes} bytes`)
    return Math.min(bytes, this.#total)
  }
}
