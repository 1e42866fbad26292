import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createCountUse, deleteExpiredWindows } from '#sql/accounts/rate_limits.ts'
import { createPool } from '#sql/pool.ts'
import { shows } from '#test/support/shows.ts'
import { openWorld } from '#test/support/world.ts'

const { config, pool } = await openWorld(t)
const limit = { name: 'test', uses: 2, window_s: 60 }
const fail = (error: unknown) => {
  throw error
}

t.test('uses are counted per name and key, up to the limit', async t => {
  const [count, countOther] = ['one', 'two'].map(name => createCountUse(pool, { ...limit, name, onError: fail }))
  const uses = [await count?.('a'), await count?.('a'), await count?.('a'), await count?.('b'), await countOther?.('a')]
  const expected = [
    { isAllowed: true, remaining: 1 },
    { isAllowed: true, remaining: 0 },
    { isAllowed: false, remaining: 0 },
    { isAllowed: true, remaining: 1 },
    { isAllowed: true, remaining: 1 },
  ]
  t.match(uses, expected)
})

t.test('reset_s is at least 1', async t => {
  const count = createCountUse(pool, { ...limit, onError: fail })
  await pool.pg.query(`INSERT INTO rate_limits VALUES ('test:late', 1, $1)`, [Date.now() + 900])
  t.match(await count('late'), { isAllowed: true, remaining: 0, reset_s: 1 })
})

t.test('processes with different clocks share a window', async t => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const uses = { ...limit, uses: 10, name: 'shared', onError: fail }
  for (const [used, hours] of [0, 24, -24, 1, -1].entries()) {
    Date.now = () => now() + hours * 3_600_000
    const { remaining, reset_s } = await createCountUse(pool, uses)('a')
    t.equal(remaining, 9 - used, `${hours} h ahead`)
    t.ok(reset_s > 50 && reset_s <= 60, `${reset_s} s`)
  }
})

t.test('without Postgres each process counts alone, reports the error and leaves no timers', async t => {
  const gone = createPool(config.DATABASE_URL as string)
  await gone.end()
  const errors: unknown[] = []
  const listTimers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout')
  const before = listTimers()
  const count = createCountUse(gone, { ...limit, onError: error => errors.push(error) })
  const allowed = [await count('a'), await count('a'), await count('a')].map(({ isAllowed }) => isAllowed)
  t.strictSame(allowed, [true, true, false])
  t.ok(listTimers().length <= before.length) // timers of other code in this process may end meanwhile
  shows(t, errors, [{ message: /pool/ }, { message: /pool/ }, { message: /pool/ }])
})

t.test('deleteExpiredWindows deletes only windows that have ended', async t => {
  await pool.pg.query('DELETE FROM rate_limits')
  await createCountUse(pool, { ...limit, onError: fail })('running')
  await pool.pg.query(`INSERT INTO rate_limits VALUES ('test:ended', 1, $1)`, [Date.now() - 60_000])
  t.equal(await deleteExpiredWindows(pool), 1)
  t.strictSame((await pool.pg.query('SELECT key FROM rate_limits')).rows, [{ key: 'test:running' }])
})

t.test('the rate limiter library does not delete rows itself', async t => {
  t.teardown(() => mock.timers.reset())
  mock.timers.enable({ apis: ['setTimeout'] })
  const errors: unknown[] = []
  createCountUse(pool, { ...limit, onError: error => errors.push(error) })
  mock.timers.tick(600_000)
  mock.timers.reset()
  await sleep(100)
  t.strictSame(errors, [])
})
