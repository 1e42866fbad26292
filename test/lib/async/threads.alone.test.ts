import { monitorEventLoopDelay } from 'node:perf_hooks'
import t from 'tap'
import { Threads } from '#lib/async/threads.ts'

const file = new URL('./misbehaving_thread.ts', import.meta.url)

t.test('Threads ends a thread in an endless loop, and the next run succeeds', async t => {
  const threads = new Threads<string, string>(file, { count: 1, deadline_ms: 1_500, heap_mb: 64 })
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  const [ended, answer] = await Promise.allSettled([threads.run('loop', []), threads.run('answer', [])])
  lag.disable()
  t.match(ended, { reason: { message: 'It took longer than 1.5 seconds.' } })
  t.match(answer, { value: 'answer' }, 'its time limit began when the thread was free')
  t.ok(lag.max < 250e6, `the main thread was not blocked: ${lag.max / 1e6} ms`)
})

t.test('Threads ends a thread that runs out of memory, and no other', async t => {
  const threads = new Threads<string, string>(file, { count: 2, deadline_ms: 20_000, heap_mb: 64 })
  const runs = [threads.run('fill', []), ...Array.from({ length: 5 }, () => threads.run('answer', []))]
  const [ended, ...answers] = await Promise.allSettled(runs)
  t.match(ended, { reason: { message: 'It took more than 64 MB of memory.' } })
  for (const answer of answers) t.match(answer, { value: 'answer' })
})
