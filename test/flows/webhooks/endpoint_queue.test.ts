import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type EndpointDeps, EndpointQueue } from '#flows/webhooks/endpoint_queue.ts'
import type { Attempt } from '#lib/webhooks/post_event.ts'
import type { DueEvent } from '#sql/webhooks/due_events.ts'

/** Creates a queue of `count` due events; `deps` replaces its functions. */
function setup(count: number, deps: Partial<EndpointDeps> = {}, recent_results = '') {
  const due = new Set(Array.from({ length: count }, (_, n) => String(n)))
  const posted: string[] = []
  const settled: string[] = []
  let now = 0
  let most = 0
  const queue = new EndpointQueue(
    { failure_count: recent_results.endsWith('f') ? 1 : 0, recent_results },
    {
      mayFail: () => true,
      async read(held, limit) {
        const found = [...due].filter(id => !held.includes(id)).slice(0, limit)
        await sleep(1)
        return found.map(event_id => ({ event_id }) as DueEvent)
      },
      async settle({ event_id }) {
        await sleep(1)
        due.delete(event_id)
        settled.push(event_id)
      },
      ...deps,
      async post(event) {
        posted.push(event.event_id)
        most = Math.max(most, ++now)
        return (deps.post?.(event) ?? sleep(1).then(() => answer(200))).finally(() => now--)
      },
    },
  )
  return { queue, due, posted, settled, most: () => most }
}

function answer(status: number, patience = 0): Attempt {
  const is_success = status < 300
  const told = { ms: 1, is_hung: false, error: null, detail: null, response: null, started_at: new Date() }
  return { is_success, is_gone: status === 410, status, patience, ...told }
}

t.test('each event is sent once, two at a time, until none is left', async t => {
  const { queue, due, posted, most } = setup(300)
  await queue.run()
  t.strictSame(posted, [...new Set(posted)])
  t.equal(posted.length, 300)
  t.equal(due.size, 0)
  t.equal(most(), 2)
})

t.test('events that become due during a run are sent too', async t => {
  const { queue, due, posted } = setup(3, {
    async post({ event_id }) {
      if (Number(event_id) < 100) due.add(String(Number(event_id) + 3))
      return answer(200)
    },
  })
  await queue.run()
  t.equal(posted.length, 103)
})

t.test('ten events are read at first and after a failure, else 100', async t => {
  const limits: number[] = []
  const fails = new Set(['5', '6'])
  const { queue, due } = setup(40, {
    async read(held, limit) {
      limits.push(limit)
      return [...due]
        .filter(id => !held.includes(id))
        .slice(0, limit)
        .map(event_id => ({ event_id }) as DueEvent)
    },
    post: async ({ event_id }) => answer(fails.has(event_id) ? 500 : 200),
  })
  await queue.run()
  t.equal(limits[0], 10)
  t.ok(limits.includes(100))
  t.strictSame([...new Set(limits)], [10, 100])
})

t.test('events that were read slowly are still sent', async t => {
  const now = performance.now.bind(performance)
  let passed = 0
  t.intercept(performance, 'now', { value: () => now() + passed })
  let reads = 0
  const { queue, due, posted } = setup(3, {
    async read(held) {
      passed += 2_000
      return ++reads > 10 ? [] : [...due].filter(id => !held.includes(id)).map(event_id => ({ event_id }) as DueEvent)
    },
  })
  await queue.run()
  t.equal(posted.length, 3)
})

t.test('a failing endpoint gets one event at a time, until another failure', async t => {
  const failing = setup(50, { post: async () => answer(500) }, 'fffff')
  await failing.queue.run()
  t.equal(failing.posted.length, 1)
  const recovered = setup(50, {}, 'f'.repeat(20))
  await recovered.queue.run()
  t.equal(recovered.posted.length, 50)
  t.equal(recovered.most(), 2, 'two at a time again after a success')
})

t.test('five failures in a row, a Retry-After or a 410 end a run', async t => {
  for (const [status, patience, most] of [
    [500, 0, 6],
    [429, 10, 2],
    [410, 0, 2],
  ] as const) {
    const { queue, posted, settled } = setup(50, { post: () => sleep(1).then(() => answer(status, patience)) })
    await queue.run()
    t.ok(posted.length <= most, `${posted.length}`)
    t.strictSame(settled.sort(), posted.sort(), 'events that were sent are settled')
  }
})

t.test('five failures in a row do not end a mostly successful run', async t => {
  const fails = (id: string) => Number(id) % 20 >= 14 // six in a row, of twenty
  const { queue, posted, most } = setup(200, { post: async ({ event_id }) => answer(fails(event_id) ? 500 : 200) })
  await queue.run()
  t.equal(posted.length, 200)
  t.equal(most(), 2)
})

t.test('a failure ends a run if mayFail() returns false', async t => {
  const fails = async ({ event_id }: DueEvent) => answer(event_id === '20' ? 500 : 200)
  const { queue, posted } = setup(100, { post: fails, mayFail: () => false })
  await queue.run()
  t.ok(posted.length < 25, `${posted.length}`)
})

t.test('an error ends a run after pending attempts are settled', async t => {
  const broken = new Error('broken')
  for (const throws of ['read', 'post', 'settle'] as const) {
    let calls = 0
    const fails = async () => {
      if (++calls === 2) throw broken
    }
    let slow = 0
    const { queue, due, settled } = setup(60, {
      post: async () => {
        if (throws === 'post') await fails()
        slow++
        await sleep(10)
        slow--
        return answer(200)
      },
      ...(throws === 'read' && {
        read: held =>
          fails().then(() => [...due].filter(id => !held.includes(id)).map(event_id => ({ event_id }) as DueEvent)),
      }),
      ...(throws === 'settle' && { settle: fails }),
    })
    await t.rejects(queue.run(), broken, throws)
    t.equal(slow, 0, 'no request is in progress')
    if (throws !== 'settle') t.ok(settled.length > 0)
  }
})

t.test('stop() waits for pending attempts and sends no more', async t => {
  const { queue, posted, settled } = setup(50, { post: () => sleep(20).then(() => answer(200)) })
  const ended = queue.run()
  await sleep(10)
  queue.stop()
  await ended
  t.equal(posted.length, 2)
  t.equal(settled.length, 2)
})

t.test('a queue that is stopped before it runs ends at once', async t => {
  const { queue, posted } = setup(5)
  queue.stop()
  await queue.run()
  t.strictSame(posted, [])
})
