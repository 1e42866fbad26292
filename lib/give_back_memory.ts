import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const INTERVAL_MS = 5_000

/** Bytes that a process takes more than it took at the least, before its garbage is collected. */
const GROWN = 64 * 1024 * 1024

/** Part of its time in which an idle process does anything. */
const IDLE = 0.1

type Collect = (options: { type: 'major'; execution: 'async'; flavor: 'last-resort' }) => Promise<void>

/**
 * Has V8 give memory back to the machine after a load. V8 collects garbage when more is allocated, so that a process which
 * has become idle keeps for good what it took at its busiest. It is collected once when it has become idle, which takes
 * some ten milliseconds, and not again before it has grown. Until the process ends; keeps none from ending.
 */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  let least = process.memoryUsage.rss()
  let before = performance.eventLoopUtilization()
  let isCollecting = false

  const look = async (): Promise<void> => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const rss = process.memoryUsage.rss()
    least = Math.min(least, rss)
    if (isCollecting || utilization > IDLE || rss < least + GROWN) return
    isCollecting = true
    await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
    isCollecting = false
    least = process.memoryUsage.rss()
  }
  setInterval(look, INTERVAL_MS).unref()
}
