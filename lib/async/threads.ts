import { Piscina } from 'piscina'
import { Semaphore } from '#lib/async/semaphore.ts'

/** The call took more time or memory than allowed, and its thread was terminated. The message says which. */
export class EndedThreadError extends Error {}

/** `idle_ms` is how long an idle thread is kept. */
export type ThreadLimits = { count: number; deadline_ms: number; heap_mb: number; idle_ms?: number }

/** Longest start of a thread, which loads its file. */
const START_MS = 60_000

/**
 * Threads for calls that may never end. Each thread runs one call at a time and is terminated if the call takes too long, even in
 * an endless loop. Waiting for a free thread and starting one, which takes seconds on a busy machine, do not count.
 *
 * Besides its default export, which makes the calls, `file` exports `ready`, which may prepare for the first one.
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
      minThreads: 0, // the default always keeps half as many threads as there are cores
      maxThreads: limits.count,
      idleTimeout: limits.idle_ms ?? 30_000,
      resourceLimits: { maxOldGenerationSizeMb: limits.heap_mb },
    })
    // A thread that ends while idle is replaced when the next call needs it.
    this.#pool.on('error', () => {})
  }

  /** @throws {EndedThreadError} and whatever the thread throws */
  async run(input: Input, transferList: ArrayBuffer[]): Promise<Output> {
    await this.#free.acquire()
    let limit_ms = START_MS
    try {
      // The next call takes the thread that this one has started.
      if (this.#pool.idleThreads === 0)
        await this.#pool.run(undefined as Input, { name: 'ready', signal: AbortSignal.timeout(limit_ms) })
      limit_ms = this.#limits.deadline_ms
      return await this.#pool.run(input, { signal: AbortSignal.timeout(limit_ms), transferList })
    } catch (error) {
      throw this.#explain(error as NodeJS.ErrnoException, limit_ms)
    } finally {
      this.#free.release()
    }
  }

  #explain(error: NodeJS.ErrnoException, limit_ms: number): Error {
    if (error.name === 'AbortError') return new EndedThreadError(`It took longer than ${limit_ms / 1_000} seconds.`)
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return new EndedThreadError(`It took more than ${this.#limits.heap_mb} MB of memory.`)
    return error
  }
}
