import { countBatch } from './take_batch.ts'

export type CoalesceOptions<In> = {
  /** Batches at work at the same moment. */
  in_flight: number
  /** Items in one batch at most. */
  max_items: number
  /** Between the starts of two batches that are not full, at the least: under load fewer and larger ones. Default 0. */
  interval_ms?: number
  /** Weight of one batch at most; a heavier item goes alone. */
  max_weight?: number
  weigh?: (item: In) => number
  /** Whether an error would meet those who still wait as well: they get it at once, and do not wait for it in turn. */
  concerns_all?: (error: unknown) => boolean
  /**
   * Callers that have waited this long for their turn get this error: `ms`, plus `ms_per_weight` for each unit of their own
   * weight, as those who wait with them may be as heavy. Default: no limit, so the queue has no bound.
   */
  patience?: { ms: number; ms_per_weight?: number; error: () => Error }
}

/**
 * Gathers concurrent callers into batches: an idle caller goes at once, without a timer; while `in_flight` batches are at
 * work the next callers queue up and go together. `run` answers one result per item, in order: a value, or an Error
 * that only that caller gets. If `run` throws, every caller of that batch gets the error.
 */
export function coalesce<In, Out>(
  run: (items: In[]) => Promise<(Out | Error)[]>,
  options: CoalesceOptions<In>,
): (item: In) => Promise<Out> {
  const { in_flight, max_items, interval_ms = 0, weigh = () => 1, concerns_all, patience } = options
  const { max_weight = Number.POSITIVE_INFINITY } = options
  type Caller = { item: In; until: number; resolve: (value: Out) => void; reject: (error: unknown) => void }
  const waiting: Caller[] = []
  let running = 0
  let rests = false
  let watch: NodeJS.Timeout | undefined
  let watched_until = Number.POSITIVE_INFINITY

  const nextBatch = (): Caller[] => {
    const count = countBatch(waiting, { max_items, max_weight, weigh: caller => weigh(caller.item) })
    return waiting.splice(0, count)
  }

  const pump = () => {
    while (running < in_flight && waiting.length > 0 && (!rests || waiting.length >= max_items)) {
      running++
      if (interval_ms > 0) rest()
      void runBatch(nextBatch()).finally(() => {
        running--
        pump()
      })
    }
  }

  const rest = () => {
    if (rests) return
    rests = true
    setTimeout(() => {
      rests = false
      pump()
    }, interval_ms)
  }

  const runBatch = async (batch: Caller[]): Promise<void> => {
    try {
      const results = await run(batch.map(caller => caller.item))
      if (results.length !== batch.length) throw new Error(`${results.length} results for ${batch.length} items`)
      batch.forEach((caller, index) => {
        const result = results[index] as Out | Error
        if (result instanceof Error) refuse([caller], result)
        else caller.resolve(result)
      })
    } catch (error) {
      refuse(batch, error)
    }
  }

  const refuse = (callers: Caller[], error: unknown): void => {
    for (const caller of callers) caller.reject(error)
    if (concerns_all?.(error)) for (const caller of waiting.splice(0)) caller.reject(error)
  }

  /** One timer for all who wait: it goes off when the first of them has lost patience. */
  const watchPatience = () => {
    const first = waiting.reduce((min, { until }) => Math.min(min, until), Number.POSITIVE_INFINITY)
    if (!patience || first >= watched_until) return
    clearTimeout(watch)
    watched_until = first
    watch = setTimeout(() => dismiss(patience.error), first - performance.now()).unref()
  }

  const dismiss = (error: () => Error) => {
    watched_until = Number.POSITIVE_INFINITY
    const now = performance.now()
    for (const { until, reject } of waiting) if (until <= now) reject(error())
    waiting.splice(0, waiting.length, ...waiting.filter(({ until }) => until > now))
    watchPatience()
  }

  const patienceOf = (item: In): number =>
    patience ? patience.ms + (patience.ms_per_weight ?? 0) * weigh(item) : Number.POSITIVE_INFINITY

  return item =>
    new Promise((resolve, reject) => {
      const until = performance.now() + patienceOf(item)
      waiting.push({ item, until, resolve, reject })
      if (until < watched_until) watchPatience()
      // One turn of the event loop's microtasks, so that callers of the same moment go together.
      queueMicrotask(pump)
    })
}
