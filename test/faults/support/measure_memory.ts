import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from '#test/faults/campaign.ts'
import type { Child } from './child.ts'
import { askMemory, TELLS_MEMORY } from './memory_usage.ts'

/** `rest_s`: seconds after each load; `most_mb`: of RSS at any time. */
type Bounds = { rest_s: number; most_mb: number }

export const MEGABYTE = 1 << 20

/** MB by which a process may have grown a minute after a load. */
const MOST_KEPT = 100

/** Puts loads on a process, one after the other, and reports its peak memory and what it keeps. */
export async function measureMemory(
  report: Report,
  child: Child,
  loads: Record<string, () => Promise<unknown>>,
  { rest_s, most_mb }: Bounds,
): Promise<void> {
  const before = child.memory('VmRSS')
  report.note({ before_mb: toMegabytes(before) })
  for (const [name, run] of Object.entries(loads)) {
    child.forgetPeak()
    await run()
    const peak = toMegabytes(child.memory('VmHWM'))
    const rests = await watch(child, rest_s)
    const kept = toMegabytes(child.memory('VmRSS') - before)
    report.note({ [name]: { peak_mb: peak, ...rests, kept_mb: kept } })
    report.expect(peak < most_mb, `${name}: ${peak} MB`)
    report.expect(rest_s < 60 || kept < MOST_KEPT, `${name}: ${kept} MB are still in use after ${rest_s} s`)
  }
}

/** Variables that may reduce the memory a process keeps, for experiments: `MALLOC_ARENA_MAX=2 node test/faults/memory.ts`. */
export function memoryEnvironment(): Record<string, string> {
  const names = ['MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_', 'MALLOC_MMAP_THRESHOLD_', 'LD_PRELOAD']
  const given = names.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : []))
  const { WEB_OPTIONS } = process.env
  return {
    ...TELLS_MEMORY,
    ...Object.fromEntries(given),
    ...(WEB_OPTIONS ? { NODE_OPTIONS: `${TELLS_MEMORY.NODE_OPTIONS} ${WEB_OPTIONS}` } : {}),
  }
}

/** RSS and the memory known to Node, in MB, at four moments of the rest. */
async function watch(child: Child, seconds: number): Promise<Record<string, string>> {
  const moments: Record<string, string> = {}
  let passed = 0
  for (const moment of [0, seconds / 4, seconds / 2, seconds]) {
    await sleep((moment - passed) * 1_000)
    passed = moment
    const { rss, heapTotal, heapUsed, external } = await askMemory(child)
    moments[`after_${moment}_s`] =
      `${toMegabytes(rss)} (heap ${toMegabytes(heapUsed)} of ${toMegabytes(heapTotal)}, external ${toMegabytes(external)})`
  }
  return moments
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE)
}
