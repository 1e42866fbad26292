import { Piscina } from 'piscina'
import { Semaphore } from '#lib/async/semaphore.ts'

/** What was run took longer, or more memory, than it may: its thread was ended. The message says which. */
export class EndedThreadError extends Error {}

/** `idle_ms` is how long a thread with nothing to do is kept. */
export type ThreadLimits = { count: number; deadline_ms: number; heap_mb: number; idle_ms?: number }

/**
 * Threads for what may never end: each runs one thing at a time, and is ended with it when that takes too long, even in a
 * loop that never looks up. The time does not run while it waits for a free thread.
 */
export class Threads<Input, Output> {
  readonly #pool: Piscina<Input, Output>
  readonly #free: Semaphore
  readonly #limits: ThreadLimits

  constructor(file: URL, limits: ThreadLimits) {
    this.#limits = limits
    this.#free = new Semaphore(limits.count)
    this.#pool = new Piscina({
      filename: file.href,
      minThreads: 0, // by default half as many as there are cores are kept for good
      maxThreads: limits.count,
      idleTimeout: limits.idle_ms ?? 30_000,
      resourceLimits: { maxOldGenerationSizeMb: limits.heap_mb },
    })
    // A thread that ends with nothing to do is replaced when there is something.
    this.#pool.on('error', () => {})
  }

  /** @throws {EndedThreadError} and whatever the thread throws */
  async run(input: Input, transferList: ArrayBuffer[]): Promise<Output> {
    await this.#free.acquire()
    try {
      const signal = AbortSignal.timeout(this.#limits.deadline_ms)
      return await this.#pool.run(input, { signal, transferList })
    } catch (error) {
      throw this.#explain(error as NodeJS.ErrnoException)
    } finally {
      this.#free.release()
    }
  }

  #explain(error: NodeJS.ErrnoException): Error {
    const { deadline_ms, heap_mb } = this.#limits
    if (error.name === 'AbortError') return new EndedThreadError(`It took longer than ${deadline_ms / 1_000} seconds.`)
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return new EndedThreadError(`It took more than ${heap_mb} MB of memory.`)
    return error
  }
}
