import t from 'tap'
import { Threads } from '#lib/async/threads.ts'

const file = new URL('./misbehaving_thread.ts', import.meta.url)

t.test('Threads ends a thread in an endless loop, and the next run succeeds', async t => {
  const threads = new Threads<string, string>(file, { count: 1, deadline_ms: 1_500, heap_mb: 64 })
  let ticks = 0
  const timer = setInterval(() => ticks++, 20)
  const [ended, answer] = await Promise.allSettled([threads.run('loop', []), threads.run('answer', [])])
  clearInterval(timer)
  t.match(ended, { reason: { message: 'It took longer than 1.5 seconds.' } })
  t.match(answer, { value: 'answer' }, 'its time limit began when the thread was free')
  t.ok(ticks >= 10, `the main thread was not blocked: ${ticks} ticks`)
})

t.test('Threads ends a thread that runs out of memory, and no other', async t => {
  const threads = new Threads<string, string>(file, { count: 2, deadline_ms: 20_000, heap_mb: 64 })
  const runs = [threads.run('fill', []), ...Array.from({ length: 5 }, () => threads.run('answer', []))]
  const [ended, ...answers] = await Promise.allSettled(runs)
  t.match(ended, { reason: { message: 'It took more than 64 MB of memory.' } })
  for (const answer of answers) t.match(answer, { value: 'answer' })
})

t.test('the start of a thread does not count as time of its first call', async t => {
  const slow = new URL('./slow_thread.ts', import.meta.url)
  const threads = new Threads<string, string>(slow, { count: 2, deadline_ms: 1_000, heap_mb: 64 })
  const answers = await Promise.all(['one', 'two', 'three'].map(what => threads.run(what, [])))
  t.strictSame(answers, ['one', 'two', 'three'])
})
