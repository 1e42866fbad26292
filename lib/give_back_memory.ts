const INTERVAL_MS = 5_000

/** Bytes that a process takes more than it took at the least, before its garbage is collected. */
const GROWN = 64 * 1024 * 1024

/** Part of its time in which an idle process does anything. */
const IDLE = 0.1

/** Intervals in a row. Collected too soon, a process that only paused would have its code compiled anew. */
const IDLE_INTERVALS = 6

/**
 * Has V8 give memory back to the machine after a load. V8 collects garbage when more is allocated, so that a process which
 * has become idle keeps for good what it took at its busiest. It is collected once when it has been idle for 30 s, which
 * takes some ten milliseconds and makes what follows slower for a while, and not again before it has grown. Until the process ends; keeps none from ending.
 *
 * Nothing without `node --expose-gc`. A program can get at `gc` without that option, but only from a context of its own,
 * and each request then costs a third more CPU.
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
    idle = utilization > IDLE ? 0 : idle + 1
    if (isCollecting || idle < IDLE_INTERVALS || rss < least + GROWN) return
    isCollecting = true
    await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
    isCollecting = false
    least = process.memoryUsage.rss()
  }
  setInterval(look, interval_ms).unref()
}
