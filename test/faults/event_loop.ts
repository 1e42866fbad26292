import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Child } from '#test/faults/support/child.ts'

/**
 * How late turns of the event loop were, in ms. `p99_cpu` and `max_cpu`: the CPU time of the thread meanwhile, which is
 * independent of other processes; `max_cpu` is that of one turn, or of several short ones.
 */
export type LoopDelay = { p50: number; p99: number; max: number; p99_cpu: number; max_cpu: number }

const RESOLUTION = 10 // ms, which count as no delay

/** The environment of a process that reports its delays. */
export const TELLS_LOOP_DELAY = { NODE_OPTIONS: `--import=${import.meta.url}?told` }

/** The delays since the last call. */
export async function askLoopDelay(child: Child): Promise<LoopDelay> {
  const known = child.lines.findLastIndex(line => PATTERN.test(line))
  child.lines.splice(known, known < 0 ? 0 : 1)
  child.kill('SIGUSR2')
  return JSON.parse((await child.says(PATTERN)).replace(PATTERN, ''))
}

const PATTERN = /^event loop: /

/** Preloaded into the measured process, whose code is not changed. */
function tellOnSignal(): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION })
  const ms = (nanoseconds: number) => Math.max(0, Math.round(nanoseconds / 1e6 - RESOLUTION))
  delay.enable()
  const cpu = createHistogram()
  let used = cpuTime()
  setInterval(() => {
    const now = cpuTime()
    cpu.record(Math.max(1, Math.round(now - used)))
    used = now
  }, RESOLUTION).unref()
  let longest = 0
  let before = cpuTime()
  setInterval(() => {
    const now = cpuTime()
    longest = Math.max(longest, now - before)
    before = now
  }, 1).unref()
  process.on('SIGUSR2', () => {
    const delays = { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) }
    const told: LoopDelay = {
      ...delays,
      p99_cpu: Math.round(cpu.percentile(99) / 1_000),
      max_cpu: Math.round(longest / 1_000),
    }
    console.log(`event loop: ${JSON.stringify(told)}`)
    delay.reset()
    cpu.reset()
    longest = 0
  })
}

/** CPU time of this thread in microseconds. */
function cpuTime(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

if (import.meta.url.endsWith('?told')) tellOnSignal()
