import t from 'tap'
import { FairQueue } from '#lib/async/fair_queue.ts'

t.test('turns go round among destinations, and within one in order', t => {
  const lanes = fill(new FairQueue<string>(100, 100), { a: 4, b: 2, c: 1 })
  t.strictSame(takeAll(lanes), ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
  t.end()
})

t.test('a destination gets half of the slots at most, and not more than there are', t => {
  const lanes = fill(new FairQueue<string>(5), { a: 10, b: 1 })
  t.strictSame(takeAll(lanes), ['a0', 'b0', 'a1', 'a2'])
  lanes.push('c', 'c0')
  lanes.push('c', 'c1')
  t.strictSame(takeAll(lanes), ['c0'], 'five are taken')
  lanes.free('b')
  t.strictSame(takeAll(lanes), ['c1'])
  lanes.free('c')
  t.strictSame(takeAll(lanes), [], 'it has its half still')
  lanes.free('a')
  t.strictSame(takeAll(lanes), ['a3'])

  const one = fill(new FairQueue<string>(1), { a: 2 })
  t.strictSame(takeAll(one), ['a0'], 'half of one is one')
  t.end()
})

t.test('one that never frees its slots leaves the others theirs', t => {
  const lanes = fill(new FairQueue<string>(4), { slow: 1_000, fast: 1_000 })
  const taken = takeAll(lanes)
  for (let i = 0; i < 998; i++) {
    lanes.free('fast')
    taken.push(...takeAll(lanes))
  }
  t.equal(taken.filter(item => item.startsWith('fast')).length, 1_000)
  t.equal(taken.filter(item => item.startsWith('slow')).length, 2)
  t.end()
})

t.test('tells who has many, waiting or active', t => {
  const lanes = fill(new FairQueue<string>(4), { a: 3, b: 2 })
  t.strictSame(lanes.busy(3), ['a'])
  takeAll(lanes)
  t.strictSame(lanes.busy(3), ['a'])
  t.strictSame(lanes.busy(2).sort(), ['a', 'b'])
  lanes.free('a')
  t.strictSame(lanes.busy(3), [])
  t.end()
})

t.test('gives back what waits; what is active can still be freed', t => {
  const lanes = fill(new FairQueue<string>(2), { a: 3, b: 1 })
  t.equal(takeAll(lanes).length, 2)
  t.strictSame(lanes.clear(), ['a1', 'a2'])
  t.strictSame(lanes.clear(), [])
  lanes.push('a', 'late')
  lanes.free('a')
  t.strictSame(takeAll(lanes), ['late'])
  lanes.free('a')
  lanes.free('b')
  t.strictSame(lanes.busy(0), [], 'nothing is left behind')
  t.throws(() => lanes.free('a'), /no slot of a is taken/)
  t.end()
})

t.test('what is parked has no slot, but still counts', t => {
  const lanes = fill(new FairQueue<string>(2, 2), { a: 4 })
  t.strictSame(takeAll(lanes), ['a0', 'a1'])
  lanes.park('a')
  lanes.park('a')
  t.strictSame(takeAll(lanes), ['a2', 'a3'])
  lanes.free('a')
  lanes.free('a')
  t.strictSame(lanes.busy(2), ['a'])
  lanes.unpark('a')
  t.strictSame([lanes.busy(1), lanes.busy(2)], [['a'], []])
  lanes.unpark('a')
  t.strictSame(lanes.busy(0), [], 'nothing is left behind')
  t.end()
})

t.test('items of some weight take as many slots, of which a destination has half', t => {
  const lanes = new FairQueue<number>(10, 5, weight => weight)
  for (const weight of [3, 3, 1]) lanes.push('a', weight)
  for (const weight of [4, 4, 4]) lanes.push('b', weight)
  t.strictSame([lanes.take(), lanes.take(), lanes.take()], [3, 4, null])
  lanes.push('c', 4)
  t.equal(lanes.take(), null, 'there are but 3 slots')
  lanes.push('d', 2)
  t.equal(lanes.take(), null, 'what is lighter does not overtake it')
  lanes.free('a', 3)
  t.strictSame([lanes.take(), lanes.take()], [3, null])
  lanes.free('b', 4)
  t.strictSame([lanes.take(), lanes.take()], [4, null])
  lanes.free('a', 3)
  t.strictSame([lanes.take(), lanes.take(), lanes.take()], [4, 2, null], 'after one turn of each it is the next')
  t.equal(lanes.active, 10)
  t.end()
})

t.test('what is heavier than its share or than all goes alone', t => {
  const lanes = new FairQueue<number>(10, 5, weight => weight)
  for (const weight of [7, 1]) lanes.push('a', weight)
  lanes.push('b', 50)
  t.strictSame([lanes.take(), lanes.take()], [7, null])
  lanes.free('a', 7)
  t.strictSame([lanes.take(), lanes.take()], [50, null])
  lanes.free('b', 50)
  t.strictSame([lanes.take(), lanes.take()], [1, null])
  t.end()
})

function fill(lanes: FairQueue<string>, counts: Record<string, number>): FairQueue<string> {
  for (const [destination, count] of Object.entries(counts)) {
    for (let i = 0; i < count; i++) lanes.push(destination, `${destination}${i}`)
  }
  return lanes
}

function takeAll(lanes: FairQueue<string>): string[] {
  const items: string[] = []
  for (let item = lanes.take(); item; item = lanes.take()) items.push(item)
  return items
}

t.test('with shares that change, what is free is left to the next, and the unproven have half together', t => {
  const proven = new Set(['a', 'b', 'c'])
  const lanes = new FairQueue<string>(12, lane => ({ slots: 8, isProven: proven.has(lane) }))
  fill(lanes, { x: 9, y: 9, z: 9 })
  t.equal(takeAll(lanes).length, 6, 'half')
  fill(lanes, { a: 9 })
  t.strictSame(takeAll(lanes), ['a0', 'a1', 'a2'], 'and half of the rest')
  fill(lanes, { b: 9 })
  t.strictSame(takeAll(lanes), ['b0', 'b1'])
  fill(lanes, { c: 9 })
  t.strictSame(takeAll(lanes), ['c0'], 'each finds one')
  lanes.free('x')
  t.strictSame(takeAll(lanes), [], 'none of these takes what is left for another')
  lanes.clear()
  for (const lane of ['x', 'y', 'y', 'z', 'z', 'a', 'a', 'a', 'b', 'b', 'c']) lanes.free(lane)
  t.equal(lanes.active, 0)
  t.equal(takeAll(fill(lanes, { x: 9 })).length, 6)
  t.end()
})

t.test('a share of none waits', t => {
  const shares: Record<string, number> = { a: 1, b: 3 }
  const lanes = fill(new FairQueue<string>(12, lane => ({ slots: shares[lane] ?? 0, isProven: true })), { a: 5, b: 5 })
  t.strictSame(takeAll(lanes), ['a0', 'b0', 'b1', 'b2'])
  shares.a = 3
  t.strictSame(takeAll(lanes), ['a1', 'a2'])
  t.end()
})

t.test('what is set aside leaves its slot to others, and counts only where a destination has a limit', t => {
  const lanes = fill(new FairQueue<string>(4), { a: 4, b: 1 })
  t.same(takeAll(lanes), ['a0', 'b0', 'a1'])
  lanes.setAside('a')
  lanes.setAside('a')
  t.same(takeAll(lanes), ['a2', 'a3'], 'half of the slots, as before')
  for (const lane of ['a', 'a', 'b']) lanes.free(lane)
  t.same([lanes.active, lanes.busy(0)], [0, ['a']])
  lanes.endAside('a')
  lanes.endAside('a')
  t.same(lanes.busy(0), [], 'nothing is left behind')

  const limited = fill(new FairQueue<string>(12, () => ({ slots: 3, isProven: true })), { a: 9 })
  t.same(takeAll(limited), ['a0', 'a1', 'a2'])
  for (let n = 0; n < 3; n++) limited.setAside('a')
  t.same(takeAll(limited), ['a3'], 'one at a time, which finds out whether the server answers')
  limited.endAside('a')
  limited.endAside('a')
  t.same(takeAll(limited), ['a4'])
  t.end()
})
