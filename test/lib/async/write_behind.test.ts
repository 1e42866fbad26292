import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type WriteBehindOptions, writeBehind } from '#lib/async/write_behind.ts'
import { waitUntil } from '#test/support/wait_until.ts'

/** Writes to an array; fails while `fault` is set. */
function open(options: Partial<WriteBehindOptions<string>> = {}) {
  const written: string[][] = []
  const failures: unknown[] = []
  const dropped: number[] = []
  const state: { fault: Error | null; tries: number } = { fault: null, tries: 0 }
  const items = writeBehind<string>(
    async batch => {
      state.tries++
      await sleep(1)
      if (state.fault) throw state.fault
      written.push(batch)
    },
    {
      ...{ interval_ms: 5, max_items: 3, max_weight: 100, weigh: item => item.length, max_waiting: 100 },
      onFailure: error => failures.push(error),
      onDropped: count => dropped.push(count),
      ...options,
    },
  )
  return { items, written, failures, dropped, state }
}

t.test('writeBehind writes items in order, including those added during a write', async t => {
  const { items, written } = open()
  for (const item of 'abcd') items.add(item)
  t.strictSame(written, [], 'adding does not wait')
  await waitUntil(() => written.length > 0, 'a batch is written')
  items.add('e')
  await waitUntil(() => written.flat().length === 5, 'all are written')
  t.strictSame(written[0], ['a', 'b', 'c'])
  t.strictSame(written.flat().join(''), 'abcde')
})

t.test('writeBehind writes a full batch at once', async t => {
  const { items, written } = open({ interval_ms: 60_000 })
  for (const item of 'ab') items.add(item)
  await sleep(20)
  t.strictSame(written, [])
  items.add('c')
  await waitUntil(() => written.length > 0, 'a batch is written')
  t.strictSame(written, [['a', 'b', 'c']])
  for (const item of 'def') items.add(item)
  await waitUntil(() => written.length > 1, 'and the next')
  t.strictSame(written[1], ['d', 'e', 'f'])
  await items.stop()
})

t.test('an item added during a write does not wait for another interval', async t => {
  const interval_ms = 1_000
  const written: string[][] = []
  const first = Promise.withResolvers<void>()
  const items = writeBehind<string>(
    async batch => {
      if (written.push(batch) === 1) await first.promise
    },
    {
      ...{ interval_ms, max_items: 2, max_weight: 100, weigh: () => 1, max_waiting: 100 },
      onFailure: t.error,
      onDropped: t.error,
    },
  )
  for (const item of 'ab') items.add(item)
  items.add('c')
  await sleep(interval_ms)
  t.strictSame(written, [['a', 'b']])
  first.resolve()
  const isPrompt = await Promise.race([
    waitUntil(() => written.length > 1, 'the next is written'),
    sleep(interval_ms / 2, false),
  ])
  t.strictSame([isPrompt, written[1]], [true, ['c']])
  await items.stop()
})

t.test('writeBehind delays even a full batch after a failure', async t => {
  const { items, written, failures, state } = open({ interval_ms: 50 })
  state.fault = new Error('away')
  for (const item of 'abc') items.add(item)
  await waitUntil(() => failures.length > 0, 'it fails')
  state.fault = null
  for (const item of 'def') items.add(item)
  await sleep(100)
  t.strictSame([state.tries, written], [1, []])
  await waitUntil(() => written.length > 1, 'all are written')
  t.strictSame(written.flat().join(''), 'abcdef')
})

t.test('writeBehind limits a batch to max_weight and writes a heavier item alone', async t => {
  const { items, written } = open({ max_weight: 4 })
  for (const item of ['aa', 'bb', 'c', 'dddddd', 'e']) items.add(item)
  await items.stop()
  t.strictSame(written, [['aa', 'bb'], ['c'], ['dddddd'], ['e']])
})

t.test('stop writes all waiting items and accepts no more', async t => {
  const { items, written, dropped } = open()
  for (const item of 'abcdefgh') items.add(item)
  await waitUntil(() => written.length > 0, 'a batch is written')
  await items.stop()
  t.equal(written.flat().join(''), 'abcdefgh')
  items.add('i')
  await sleep(20)
  t.equal(written.flat().join(''), 'abcdefgh')
  t.strictSame(dropped, [])
})

t.test('writeBehind keeps up to max_waiting items while writes fail, and reports how many it dropped', async t => {
  const { items, written, failures, dropped, state } = open({ max_waiting: 4, max_items: 10 })
  const fault = new Error('away')
  state.fault = fault
  for (const item of 'abcdef') items.add(item)
  await waitUntil(() => state.tries > 2, 'it is tried again')
  t.strictSame(failures, [fault], 'reported once')
  t.strictSame(dropped, [])

  state.fault = null
  await waitUntil(() => written.length > 0, 'a batch is written')
  t.strictSame(written, [['a', 'b', 'c', 'd']])
  t.strictSame(dropped, [2])
  items.add('g')
  await waitUntil(() => written.length > 1, 'the next batch is written')
  t.strictSame(dropped, [2], 'there is room again')
})

t.test('stop reports how many items it could not write', async t => {
  const { items, dropped, state } = open()
  state.fault = new Error('away')
  for (const item of 'ab') items.add(item)
  await items.stop()
  t.strictSame(dropped, [2])
  t.equal(state.tries, 1)
})
