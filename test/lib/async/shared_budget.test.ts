import t from 'tap'
import { SharedBudget } from '#lib/async/shared_budget.ts'

const { signal } = new AbortController()
const turn = () => new Promise(setImmediate)

/** Acquires permits; `order` has the names of those who got them. */
function openBudget(total: number, share: number) {
  const budget = new SharedBudget(total, share)
  const order: string[] = []
  const ask = async (account: string, permits: number, name = account) => {
    const release = await budget.acquire(account, permits, signal)
    order.push(name)
    return release
  }
  return { budget, order, ask }
}

t.test('SharedBudget gives one account at most its share', async t => {
  const { order, ask } = openBudget(10, 6)
  const first = await ask('a', 6, 'a1')
  const second = ask('a', 1, 'a2')
  await ask('b', 4)
  await turn()
  t.same(order, ['a1', 'b'])
  first()
  first()
  await second
  t.same(order, ['a1', 'b', 'a2'])
})

t.test('SharedBudget reduces a larger request to a share', async t => {
  const { order, ask } = openBudget(10, 6)
  const release = await ask('a', 100)
  await ask('b', 4)
  release()
  await ask('c', 100)
  t.same(order, ['a', 'b', 'c'])
})

t.test('SharedBudget forgets those who stop waiting', async t => {
  const { budget, order, ask } = openBudget(10, 6)
  const releases = [await ask('a', 6), await ask('b', 4)]
  const [own, all] = [new AbortController(), new AbortController()]
  const waitsForOwn = budget.acquire('a', 1, own.signal)
  const waitsForAll = budget.acquire('c', 6, all.signal)
  own.abort(new Error('gone'))
  all.abort(new Error('gone'))
  await t.rejects(waitsForOwn, { message: 'gone' })
  await t.rejects(waitsForAll, { message: 'gone' })
  for (const release of releases) release()
  for (const account of ['c', 'd']) await ask(account, account === 'c' ? 6 : 4)
  t.same(order, ['a', 'b', 'c', 'd'])
})
