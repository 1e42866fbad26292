import t from 'tap'
import { FairQueue } from '#lib/async/fair_queue.ts'

t.test('FairQueue takes from destinations in turn, in order within each', t => {
  const queue = fill(new FairQueue<string>(100, 100), { a: 4, b: 2, c: 1 })
  t.strictSame(takeAll(queue), ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
  t.end()
})

t.test('FairQueue gives a destination at most half of the slots', t => {
  const queue = fill(new FairQueue<string>(5), { a: 10, b: 1 })
  t.strictSame(takeAll(queue), ['a0', 'b0', 'a1', 'a2'])
  queue.push('c', 'c0')
  queue.push('c', 'c1')
  t.strictSame(takeAll(queue), ['c0'], 'five are taken')
  queue.free('b')
  t.strictSame(takeAll(queue), ['c1'])
  queue.free('c')
  t.strictSame(takeAll(queue), [], 'it still has its half')
  queue.free('a')
  t.strictSame(takeAll(queue), ['a3'])

  const one = fill(new FairQueue<string>(1), { a: 2 })
  t.strictSame(takeAll(one), ['a0'], 'half of one is one')
  t.end()
})

t.test('FairQueue serves other destinations while one never frees its slots', t => {
  const queue = fill(new FairQueue<string>(4), { slow: 1_000, fast: 1_000 })
  const taken = takeAll(queue)
  for (let i = 0; i < 998; i++) {
    queue.free('fast')
    taken.push(...takeAll(queue))
  }
  t.equal(taken.filter(item => item.startsWith('fast')).length, 1_000)
  t.equal(taken.filter(item => item.startsWith('slow')).length, 2)
  t.end()
})

t.test('busy lists destinations by their items, waiting and active', t => {
  const queue = fill(new FairQueue<string>(4), { a: 3, b: 2 })
  t.strictSame(queue.busy(3), ['a'])
  takeAll(queue)
  t.strictSame(queue.busy(3), ['a'])
  t.strictSame(queue.busy(2).sort(), ['a', 'b'])
  queue.free('a')
  t.strictSame(queue.busy(3), [])
  t.end()
})

t.test('clear returns waiting items, and active ones can still be freed', t => {
  const queue = fill(new FairQueue<string>(2), { a: 3, b: 1 })
  t.equal(takeAll(queue).length, 2)
  t.strictSame(queue.clear(), ['a1', 'a2'])
  t.strictSame(queue.clear(), [])
  queue.push('a', 'late')
  queue.free('a')
  t.strictSame(takeAll(queue), ['late'])
  queue.free('a')
  queue.free('b')
  t.strictSame(queue.busy(0), [], 'nothing is left behind')
  t.throws(() => queue.free('a'), /no slot of a is taken/)
  t.end()
})

t.test('a parked item has no slot but counts as busy', t => {
  const queue = fill(new FairQueue<string>(2, 2), { a: 4 })
  t.strictSame(takeAll(queue), ['a0', 'a1'])
  queue.park('a')
  queue.park('a')
  t.strictSame(takeAll(queue), ['a2', 'a3'])
  queue.free('a')
  queue.free('a')
  t.strictSame(queue.busy(2), ['a'])
  queue.unpark('a')
  t.strictSame([queue.busy(1), queue.busy(2)], [['a'], []])
  queue.unpark('a')
  t.strictSame(queue.busy(0), [], 'nothing is left behind')
  t.end()
})

t.test('FairQueue counts slots by the weight of items', t => {
  const queue = new FairQueue<number>(10, 5, { weigh: weight => weight })
  for (const weight of [3, 3, 1]) queue.push('a', weight)
  for (const weight of [4, 4, 4]) queue.push('b', weight)
  t.strictSame([queue.take(), queue.take(), queue.take()], [3, 4, null])
  queue.push('c', 4)
  t.equal(queue.take(), null, 'there are only 3 slots')
  queue.push('d', 2)
  t.equal(queue.take(), null, 'lighter items do not overtake it')
  queue.free('a', 3)
  t.strictSame([queue.take(), queue.take()], [3, null])
  queue.free('b', 4)
  t.strictSame([queue.take(), queue.take()], [4, null])
  queue.free('a', 3)
  t.strictSame(
    [queue.take(), queue.take(), queue.take()],
    [4, 2, null],
    'it is next after one turn of each destination',
  )
  t.equal(queue.active, 10)
  t.end()
})

t.test('FairQueue takes an item heavier than its share or than all slots alone', t => {
  const queue = new FairQueue<number>(10, 5, { weigh: weight => weight })
  for (const weight of [7, 1]) queue.push('a', weight)
  queue.push('b', 50)
  t.strictSame([queue.take(), queue.take()], [7, null])
  queue.free('a', 7)
  t.strictSame([queue.take(), queue.take()], [50, null])
  queue.free('b', 50)
  t.strictSame([queue.take(), queue.take()], [1, null])
  t.end()
})

function fill(queue: FairQueue<string>, counts: Record<string, number>): FairQueue<string> {
  for (const [destination, count] of Object.entries(counts)) {
    for (let i = 0; i < count; i++) queue.push(destination, `${destination}${i}`)
  }
  return queue
}

function takeAll(queue: FairQueue<string>): string[] {
  const items: string[] = []
  for (let item = queue.take(); item; item = queue.take()) items.push(item)
  return items
}

t.test('FairQueue leaves free slots to later destinations, and half to all unproven ones together', t => {
  const proven = new Set(['a', 'b', 'c'])
  const queue = new FairQueue<string>(12, key => ({ slots: 8, isProven: proven.has(key) }))
  fill(queue, { x: 9, y: 9, z: 9 })
  t.equal(takeAll(queue).length, 6, 'half')
  fill(queue, { a: 9 })
  t.strictSame(takeAll(queue), ['a0', 'a1', 'a2'], 'and half of the rest')
  fill(queue, { b: 9 })
  t.strictSame(takeAll(queue), ['b0', 'b1'])
  fill(queue, { c: 9 })
  t.strictSame(takeAll(queue), ['c0'], 'each destination gets a slot')
  queue.free('x')
  t.strictSame(takeAll(queue), [], 'unproven destinations leave the free slots to others')
  queue.clear()
  for (const key of ['x', 'y', 'y', 'z', 'z', 'a', 'a', 'a', 'b', 'b', 'c']) queue.free(key)
  t.equal(queue.active, 0)
  t.equal(takeAll(fill(queue, { x: 9 })).length, 6)
  t.end()
})

t.test('FairQueue takes nothing for a destination with no slots', t => {
  const shares: Record<string, number> = { a: 1, b: 3 }
  const queue = fill(new FairQueue<string>(12, key => ({ slots: shares[key] ?? 0, isProven: true })), { a: 5, b: 5 })
  t.strictSame(takeAll(queue), ['a0', 'b0', 'b1', 'b2'])
  shares.a = 3
  t.strictSame(takeAll(queue), ['a1', 'a2'])
  t.end()
})

t.test('setAside frees the slot of an item, which still counts as busy', t => {
  const queue = fill(new FairQueue<string>(4), { a: 4, b: 1 })
  t.same(takeAll(queue), ['a0', 'b0', 'a1'])
  queue.setAside('a')
  queue.setAside('a')
  t.same(takeAll(queue), ['a2', 'a3'], 'half of the slots, as before')
  for (const key of ['a', 'a', 'b']) queue.free(key)
  t.same([queue.active, queue.busy(0)], [0, ['a']])
  queue.endAside('a')
  queue.endAside('a')
  t.same(queue.busy(0), [], 'nothing is left behind')

  const limited = fill(new FairQueue<string>(12, () => ({ slots: 3, isProven: true })), { a: 9 })
  t.same(takeAll(limited), ['a0', 'a1', 'a2'])
  for (let n = 0; n < 3; n++) limited.setAside('a')
  t.same(takeAll(limited), ['a3'], 'one item at a time, to find out whether the server responds')
  limited.endAside('a')
  limited.endAside('a')
  t.same(takeAll(limited), ['a4'])
  t.end()
})

t.test('FairQueue takes later items only when no other item can be taken', async t => {
  const queue = new FairQueue<string>(4, 2, { isLater: item => item.startsWith('later') })
  for (const item of ['later 1', 'a 1', 'later 2', 'a 2', 'a 3']) queue.push('a', item)
  queue.push('b', 'later 3')
  queue.push('b', 'b 1')
  const taken = [queue.take(), queue.take(), queue.take(), queue.take(), queue.take()]
  t.strictSame(taken, ['a 1', 'b 1', 'a 2', 'later 3', null])
  t.equal(queue.count('a'), 5)
  t.strictSame(queue.clear(), ['a 3', 'later 1', 'later 2'])
})

t.test('FairQueue takes later items only while fewer than their number of slots are taken', async t => {
  let later_slots = 2
  const isLater = (item: string) => item.startsWith('later')
  const queue = new FairQueue<string>(4, 4, { isLater, laterSlots: () => later_slots })
  for (const item of ['later 1', 'later 2', 'later 3', 'later 4']) queue.push('a', item)
  t.strictSame([queue.take(), queue.take(), queue.take()], ['later 1', 'later 2', null])
  queue.push('a', 'other')
  t.equal(queue.take(), 'other')
  queue.free('a')
  t.equal(queue.take(), null)
  later_slots = 4
  t.equal(queue.take(), 'later 3')
})
