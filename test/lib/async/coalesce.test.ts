import t from 'tap'
import { coalesce } from '#lib/async/coalesce.ts'
import { shows } from '#test/support/shows.ts'

/** A `run` whose batches the test finishes by hand. */
function controlled() {
  const batches: { items: string[]; finish(results?: (string | Error)[]): void; fail(error: Error): void }[] = []
  const run = (items: string[]) =>
    new Promise<(string | Error)[]>((resolve, reject) => {
      const finish = (results: (string | Error)[] = items.map(item => item.toUpperCase())) => resolve(results)
      batches.push({ items, finish, fail: reject })
    })
  return { batches, run, sizes: () => batches.map(batch => batch.items.length) }
}

/** Resolves when everything that is due has run. */
const settled = () => new Promise(resolve => setImmediate(resolve))
const letters = (count: number) => Array.from({ length: count }, (_, i) => `i${i}`)

t.test('coalesce runs a single call at once, without a timer', async t => {
  const { batches, run } = controlled()
  const call = coalesce(run, { in_flight: 2, max_items: 10 })
  const answer = call('a')
  await Promise.resolve()
  t.strictSame(batches[0]?.items, ['a'])
  batches[0]?.finish()
  t.equal(await answer, 'A')
})

t.test('coalesce batches calls of one turn, and those made during a run', async t => {
  const { batches, run, sizes } = controlled()
  const call = coalesce(run, { in_flight: 2, max_items: 10 })
  const first = ['a', 'b', 'c'].map(call)
  await settled()
  const second = ['d', 'e'].map(call)
  await settled()
  const third = ['f', 'g'].map(call)
  await settled()
  t.strictSame(sizes(), [3, 2])

  batches[1]?.finish()
  t.strictSame(await Promise.all(second), ['D', 'E'])
  await settled()
  t.strictSame(sizes(), [3, 2, 2])
  batches[0]?.finish()
  batches[2]?.finish()
  t.strictSame(await Promise.all([...first, ...third]), ['A', 'B', 'C', 'F', 'G'])
})

t.test('coalesce respects in_flight and max_items and keeps the order', async t => {
  const { batches, run, sizes } = controlled()
  const call = coalesce(run, { in_flight: 2, max_items: 4 })
  const items = letters(11)
  const answers = items.map(call)
  await settled()
  t.strictSame(sizes(), [4, 4])
  batches[0]?.finish()
  await settled()
  t.strictSame(sizes(), [4, 4, 3])
  for (const { finish } of batches) finish()
  t.strictSame(
    await Promise.all(answers),
    items.map(item => item.toUpperCase()),
  )
  t.strictSame(
    batches.flatMap(batch => batch.items),
    items,
  )
})

t.test('coalesce limits a batch to max_weight and runs a heavier item alone', async t => {
  const { batches, run } = controlled()
  const call = coalesce(run, { in_flight: 9, max_items: 9, max_weight: 5, weigh: item => item.length })
  const answers = ['aaa', 'bb', 'c', 'dddddddd', 'e', 'ffff', 'g'].map(call)
  await settled()
  t.strictSame(
    batches.map(({ items }) => items),
    [['aaa', 'bb'], ['c'], ['dddddddd'], ['e', 'ffff'], ['g']],
  )
  for (const { finish } of batches) finish()
  await Promise.all(answers)
})

t.test('coalesce gives each caller its own result or error', async t => {
  const { batches, run } = controlled()
  const call = coalesce(run, { in_flight: 1, max_items: 10 })
  const answers = ['a', 'b', 'c'].map(call)
  await settled()
  batches[0]?.finish(['A', new Error('only b'), 'C'])
  shows(t, await Promise.allSettled(answers), [{ value: 'A' }, { reason: { message: 'only b' } }, { value: 'C' }])
})

t.test('coalesce rejects only the callers of a batch that fails or returns too few results', async t => {
  const { batches, run } = controlled()
  const call = coalesce(run, { in_flight: 1, max_items: 2 })
  const outcomes = Promise.allSettled(letters(6).map(call))
  await settled()
  batches[0]?.fail(new Error('gone'))
  await settled()
  batches[1]?.finish(['one'])
  await settled()
  batches[2]?.finish()
  const gone = { reason: { message: 'gone' } }
  const few = { reason: { message: '1 results for 2 items' } }
  shows(t, await outcomes, [gone, gone, few, few, { value: 'I4' }, { value: 'I5' }])
})

t.test('coalesce rejects when run throws synchronously', async t => {
  const call = coalesce<string, string>(
    () => {
      throw new Error('at once')
    },
    { in_flight: 1, max_items: 1 },
  )
  await t.rejects(call('a'), { message: 'at once' })
  await t.rejects(call('b'), { message: 'at once' })
})

t.test('coalesce rejects all waiting callers on an error that concerns all, but not later ones', async t => {
  for (const tell of ['fail', 'finish'] as const) {
    const { batches, run, sizes } = controlled()
    const concerns_all = (error: unknown) => error instanceof RangeError
    const call = coalesce(run, { in_flight: 1, max_items: 1, concerns_all })
    const outcomes = Promise.allSettled(['a', 'b', 'c'].map(call))
    await settled()
    const error = new RangeError('full')
    if (tell === 'fail') batches[0]?.fail(error)
    else batches[0]?.finish([error])
    for (const outcome of await outcomes) t.match(outcome, { reason: error })
    const later = call('d')
    await settled()
    batches[1]?.finish()
    t.equal(await later, 'D')
    t.strictSame(sizes(), [1, 1])
  }
})

t.test('coalesce lets heavy items wait longer, without delaying the timeout of light ones', async t => {
  const { batches, run } = controlled()
  const late = new Error('late')
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  const patience = { ms: 10, ms_per_weight: 60_000, error: () => late }
  const weigh = (item: string) => item.length - 1
  const call = coalesce(run, { in_flight: 1, max_items: 1, weigh, patience })
  const first = call('a')
  const heavy = call('bb')
  const light = await call('c').catch(error => error)
  t.equal(light, late)
  batches[0]?.finish()
  t.equal(await first, 'A')
  await settled()
  t.strictSame(batches[1]?.items, ['bb'])
  batches[1]?.finish()
  t.equal(await heavy, 'BB')
})

t.test('coalesce rejects items that wait too long for their batch', async t => {
  const { batches, run } = controlled()
  const late = new Error('late')
  const alive = setInterval(() => {}, 1_000) // the timer of coalesce does not keep the process alive
  t.teardown(() => clearInterval(alive))
  const call = coalesce(run, { in_flight: 1, max_items: 1, patience: { ms: 20, error: () => late } })
  const first = call('a')
  const refused = ['b', 'c'].map(item => call(item).catch(error => error))
  t.strictSame(await Promise.all(refused), [late, late], 'however long the current batch takes')
  const [next, after] = ['d', 'e'].map(item => call(item).catch(error => error))
  batches[0]?.finish()
  t.equal(await first, 'A')
  await settled()
  t.strictSame(batches[1]?.items, ['d'])
  t.equal(await after, late, 'again and again')
  batches[1]?.finish()
  t.equal(await next, 'D')
})
