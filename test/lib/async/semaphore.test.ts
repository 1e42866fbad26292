import fc from 'fast-check'
import t from 'tap'
import { Semaphore } from '#lib/async/semaphore.ts'

t.test('Semaphore admits as many as it has permits, the others in order', async t => {
  const semaphore = new Semaphore(2)
  const order: number[] = []
  const hold = async (number: number) => {
    await semaphore.acquire()
    order.push(number)
  }
  const all = Promise.all([hold(1), hold(2), hold(3), hold(4)])
  await new Promise(setImmediate)
  t.strictSame(order, [1, 2])
  semaphore.release()
  semaphore.release()
  await all
  t.strictSame(order, [1, 2, 3, 4])
  semaphore.release()
  await hold(5)
  t.strictSame(order, [1, 2, 3, 4, 5])
})

t.test('acquireFirst goes before all that wait with acquire', async t => {
  const semaphore = new Semaphore(1)
  const order: string[] = []
  await semaphore.acquireFirst()
  const all = ['a', 'b'].map(name => semaphore.acquire().then(() => order.push(name)))
  const first = ['first', 'second'].map(name => semaphore.acquireFirst().then(() => order.push(name)))
  t.equal(semaphore.waiting, 4)
  for (let n = 0; n < 4; n++) {
    semaphore.release()
    await settled()
  }
  await Promise.all([...all, ...first])
  t.strictSame(order, ['first', 'second', 'a', 'b'])
  semaphore.release()
  t.strictSame([semaphore.free, semaphore.waiting], [1, 0])
})

/** Acquires a number of bytes, and adds the name to `order` when it has them. */
function asks(budget: Semaphore, order: string[]) {
  return (name: string, bytes: number, signal?: AbortSignal) =>
    budget.acquire(bytes, signal).then(
      () => order.push(name),
      error => order.push(`${name}: ${error.name}`),
    )
}

const settled = () => new Promise(setImmediate)

t.test('Semaphore makes later acquirers wait behind a larger one', async t => {
  const budget = new Semaphore(100)
  const order: string[] = []
  const ask = asks(budget, order)
  ask('first', 60)
  ask('second', 30)
  ask('large', 80)
  ask('small', 1)
  await settled()
  t.strictSame(order, ['first', 'second'])
  budget.release(60)
  await settled()
  t.strictSame(order, ['first', 'second'])
  budget.release(30)
  await settled()
  t.strictSame(order, ['first', 'second', 'large', 'small'])
})

t.test('Semaphore counts a request beyond its size as its size', async t => {
  const budget = new Semaphore(100)
  await budget.acquire(1_000_000)
  t.equal(budget.free, 0)
  budget.release(1_000_000)
  t.equal(budget.free, 100)
})

t.test('an aborted wait takes no permits and blocks nobody', async t => {
  const budget = new Semaphore(100)
  const order: string[] = []
  const ask = asks(budget, order)
  const gone = new AbortController()
  ask('first', 60)
  ask('gone', 50, gone.signal)
  ask('small', 40)
  await settled()
  gone.abort()
  await settled()
  t.strictSame(order, ['first', 'gone: AbortError', 'small'])
  t.equal(budget.free, 0)
  await t.rejects(budget.acquire(0, gone.signal), { name: 'AbortError' })
})

t.test('aborting the signal after acquiring changes nothing', async t => {
  const budget = new Semaphore(100)
  const client = new AbortController()
  await budget.acquire(100, client.signal)
  const waits = budget.acquire(70, client.signal)
  budget.release(100)
  await waits
  client.abort()
  t.equal(budget.free, 30)
})

t.test('Semaphore refuses to release more than was acquired, and to acquire less than zero', async t => {
  const budget = new Semaphore(100)
  t.throws(() => budget.release(1), RangeError)
  await t.rejects(budget.acquire(-1), RangeError)
  await t.rejects(budget.acquire(Number.NaN), RangeError)
  t.equal(budget.free, 100)
})

t.test('Semaphore never exceeds its budget and serves everybody in order', async t => {
  const client = fc.record({ bytes: fc.nat({ max: 150 }), turns: fc.nat({ max: 5 }), leaves: fc.boolean() })
  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.array(client, { maxLength: 30 }), async clients => {
        const budget = new Semaphore(100)
        const served: number[] = []
        let held = 0
        await Promise.all(
          clients.map(async ({ bytes, turns, leaves }, number) => {
            const client = new AbortController()
            if (leaves) setImmediate(() => client.abort())
            const isServed = await budget.acquire(bytes, client.signal).then(
              () => true,
              () => false,
            )
            if (!isServed) return
            served.push(number)
            held += Math.min(bytes, 100)
            if (held > 100) throw new Error(`${held} bytes are held`)
            for (let turn = 0; turn < turns; turn++) await settled()
            held -= Math.min(bytes, 100)
            budget.release(bytes)
          }),
        )
        const inOrder = [...served].sort((a, b) => a - b)
        return budget.free === 100 && budget.waiting === 0 && String(served) === String(inOrder)
      }),
    ),
  )
})
