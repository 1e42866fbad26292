const INTERVAL_MS = 5_000

/** Garbage is collected only if the process has grown by this many bytes above its smallest size. */
const MIN_GROWTH = 64 * 1024 * 1024

/** A process is idle if its event loop is busy for at most this share of the time. */
const MAX_IDLE_UTILIZATION = 0.1

/**
 * Idle intervals in a row before a collection. A collection also discards compiled code, so it should not happen in a short pause.
 */
const IDLE_INTERVALS = 6

/**
 * Returns memory to the machine after a load peak. V8 collects garbage only when more is allocated, so an idle process would keep
 * what it used at its busiest. This collects once after 30 s of idleness, and again only after the process has grown. A
 * collection takes about 50 ms and makes the process slower for a while. The timer runs until the process ends and
 * does not keep it alive.
 *
 * Does nothing without `node --expose-gc`. A program can get `gc` without that option, but only from a separate context
 * (`node:vm`), and then each request costs a third more CPU.
 */
export function giveBackMemory(interval_ms: number = INTERVAL_MS): void {
  const collect = globalThis.gc
  if (!collect) return
  let least = process.memoryUsage.rss()
  let before = performance.eventLoopUtilization()
  let isCollecting = false
  let idle = 0

  const look = async (): Promise<void> => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const rss = process.memoryUsage.rss()
    least = Math.min(least, rss)
    idle = utilization > MAX_IDLE_UTILIZATION ? 0 : idle + 1
    if (isCollecting || idle < IDLE_INTERVALS || rss < least + MIN_GROWTH) return
    isCollecting = true
    await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
    isCollecting = false
    least = process.memoryUsage.rss()
  }
  setInterval(look, interval_ms).unref()
}

/** Bytes of streamed Buffers after which garbage is collected. */
const STREAMED_PER_COLLECTION = 4 * 1024 * 1024

let streamed = 0

/**
 * Frees the Buffers of an upload while it arrives. Call it with the size of each Buffer. They are outside of V8's heap, so V8
 * alone frees them only when about 100 MB have accumulated. A collection of new objects takes about a millisecond. Does nothing
 * without `node --expose-gc`.
 */
export function collectStreamed(bytes: number): void {
  streamed += bytes
  if (streamed < STREAMED_PER_COLLECTION) return
  streamed = 0
  globalThis.gc?.({ type: 'minor' })
}
