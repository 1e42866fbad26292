import { type BatchLimits, countBatch } from './take_batch.ts'

export type CoalesceOptions<In> = {
  /** Batches that run at the same time. */
  in_flight: number
  /** Maximum number of items per batch. */
  max_items: number
  /**
   * Shortest time between the starts of two batches with fewer than `enough_items`, so that batches get fewer and larger under
   * load. Default 0.
   */
  interval_ms?: number
  /** Default: `max_items`. */
  enough_items?: number
  /** Maximum weight per batch; a heavier item goes alone. */
  max_weight?: number
  weigh?: (item: In) => number
  /** Returns true if an error would hit the waiting callers as well: they get it at once instead of waiting for their turn. */
  concerns_all?: (error: unknown) => boolean
  /**
   * A caller that has waited this long for its turn gets this error. The time is `ms`, plus `ms_per_weight` per unit of its own
   * weight, since the callers before it may be as heavy. Default: no limit, so the queue is unbounded.
   */
  patience?: Patience
}

type Patience = { ms: number; ms_per_weight?: number; error: () => Error }

type Run<In, Out> = (items: In[]) => Promise<(Out | Error)[]>

/**
 * Gathers concurrent callers into batches. If no batch is running, a caller goes at once, without a timer. While `in_flight`
 * batches run, further callers queue up and go together. `run` returns one result per item, in order: a value, or an Error for
 * that caller alone. If `run` throws, every caller of the batch gets the error.
 */
export function coalesce<In, Out>(run: Run<In, Out>, options: CoalesceOptions<In>): (item: In) => Promise<Out> {
  const coalescer = new Coalescer(run, options)
  return item => coalescer.call(item)
}

type Caller<In, Out> = { item: In; until: number; resolve: (value: Out) => void; reject: (error: unknown) => void }

class Coalescer<In, Out> {
  readonly #run: Run<In, Out>
  readonly #in_flight: number
  readonly #interval_ms: number
  readonly #enough_items: number
  readonly #weigh: (item: In) => number
  readonly #limits: BatchLimits<Caller<In, Out>>
  readonly #patience: Patience | undefined
  readonly #concerns_all: CoalesceOptions<In>['concerns_all']
  readonly #waiting: Caller<In, Out>[] = []
  #running = 0
  #isResting = false
  #timer: NodeJS.Timeout | undefined
  #timer_at = Number.POSITIVE_INFINITY

  constructor(run: Run<In, Out>, options: CoalesceOptions<In>) {
    const { max_items, max_weight = Number.POSITIVE_INFINITY, weigh = () => 1 } = options
    this.#run = run
    this.#in_flight = options.in_flight
    this.#interval_ms = options.interval_ms ?? 0
    this.#enough_items = options.enough_items ?? max_items
    this.#weigh = weigh
    this.#limits = { max_items, max_weight, weigh: ({ item }) => weigh(item) }
    this.#patience = options.patience
    this.#concerns_all = options.concerns_all
  }

  call(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      const until = this.#patientUntil(item)
      this.#waiting.push({ item, until, resolve, reject })
      if (until < this.#timer_at) this.#watchPatience()
      // Starts a microtask later, so that callers of the same moment go together.
      queueMicrotask(this.#pump)
    })
  }

  /** A property, so that calls need not bind it. */
  readonly #pump = (): void => {
    while (this.#running < this.#in_flight && this.#waiting.length > 0) {
      if (this.#isResting && this.#waiting.length < this.#enough_items) return
      this.#running++
      this.#rest()
      void this.#runBatch(this.#waiting.splice(0, countBatch(this.#waiting, this.#limits))).finally(() => {
        this.#running--
        this.#pump()
      })
    }
  }

  #rest(): void {
    if (this.#isResting || this.#interval_ms === 0) return
    this.#isResting = true
    setTimeout(() => {
      this.#isResting = false
      this.#pump()
    }, this.#interval_ms)
  }

  async #runBatch(batch: Caller<In, Out>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map(({ item }) => item))
      if (results.length !== batch.length) throw new Error(`${results.length} results for ${batch.length} items`)
      batch.forEach((caller, index) => {
        const result = results[index] as Out | Error
        if (result instanceof Error) this.#reject([caller], result)
        else caller.resolve(result)
      })
    } catch (error) {
      this.#reject(batch, error)
    }
  }

  #reject(callers: Caller<In, Out>[], error: unknown): void {
    for (const { reject } of callers) reject(error)
    if (this.#concerns_all?.(error)) for (const { reject } of this.#waiting.splice(0)) reject(error)
  }

  #patientUntil(item: In): number {
    if (!this.#patience) return Number.POSITIVE_INFINITY
    const { ms, ms_per_weight = 0 } = this.#patience
    return performance.now() + ms + ms_per_weight * this.#weigh(item)
  }

  /** One timer for all waiting callers. It fires when the first of them has waited long enough. */
  #watchPatience(): void {
    const first = this.#waiting.reduce((min, { until }) => Math.min(min, until), Number.POSITIVE_INFINITY)
    if (first >= this.#timer_at) return
    clearTimeout(this.#timer)
    this.#timer_at = first
    this.#timer = setTimeout(() => this.#rejectLate(), first - performance.now()).unref()
  }

  #rejectLate(): void {
    this.#timer_at = Number.POSITIVE_INFINITY
    const now = performance.now()
    for (const { until, reject } of this.#waiting) if (until <= now) reject(this.#patience?.error())
    this.#waiting.splice(0, this.#waiting.length, ...this.#waiting.filter(({ until }) => until > now))
    this.#watchPatience()
  }
}
