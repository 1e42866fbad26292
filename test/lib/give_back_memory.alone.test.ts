import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { giveBackMemory } from '#lib/give_back_memory.ts'

const MEGABYTE = 1024 * 1024

type GcEntry = { detail: { kind: number } }

t.test('an idle process returns its memory to the system', async t => {
  setFlagsFromString('--expose-gc') // as in the Procfile
  globalThis.gc = runInNewContext('gc')
  giveBackMemory(250)
  const before = process.memoryUsage.rss()
  // Garbage that V8 would keep: it is old, and nothing is allocated afterwards.
  let held: unknown[] | null = Array.from({ length: 3_000_000 }, (_, n) => ({ n }))
  await sleep(10)
  t.ok(held.length > 0)
  held = null
  const grown = process.memoryUsage.rss() - before
  t.ok(grown > 100 * MEGABYTE, `${grown} bytes`)

  await collected()
  const kept = process.memoryUsage.rss() - before
  t.ok(kept < grown / 2, `${kept} of ${grown} bytes`)
})

/** Resolves at the next full garbage collection; nothing else here triggers one. */
async function collected(): Promise<void> {
  const keepsRunning = setInterval(() => {}, 1_000)
  await new Promise<void>(resolve => {
    const observer = new PerformanceObserver(list => {
      const kinds = list.getEntries().map(entry => (entry as unknown as GcEntry).detail.kind)
      if (!kinds.includes(constants.NODE_PERFORMANCE_GC_MAJOR)) return
      observer.disconnect()
      resolve()
    })
    observer.observe({ entryTypes: ['gc'] })
  })
  clearInterval(keepsRunning)
}
