import t from 'tap'
import { readDatabaseTime } from '#flows/process/sync_clock.ts'
import { now, setClock } from '#lib/clock.ts'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }
const HOUR = 3_600_000

const shift = (ms: number) => setClock(now().getTime() + ms, performance.now())
const inDatabase = async () => (await world.pool.pg.query('SELECT clock_timestamp() AS time')).rows[0].time.getTime()

t.afterEach(() => readDatabaseTime(world.pool))

t.test('readDatabaseTime sets the clock to that of the database', async t => {
  for (const ms of [-24 * HOUR, 0, 24 * HOUR]) {
    shift(ms)
    await readDatabaseTime(world.pool)
    const [before, time, after] = [await inDatabase(), now().getTime(), await inDatabase()]
    t.ok(before - 1_000 < time && time < after + 1_000, `${before} ${time} ${after}`)
  }
})

t.test('readDatabaseTime ignores a reply that took too long', async t => {
  shift(HOUR)
  await readDatabaseTime(world.pool, 0)
  t.ok(now().getTime() > (await inDatabase()) + HOUR / 2)
})

t.test('newId() rises even when the clock goes back, and contains its time', async t => {
  const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  const ids = Array.from({ length: 1_000 }, newId)
  shift(-100)
  ids.push(...Array.from({ length: 1_000 }, newId))
  t.strictSame(ids.toSorted(), ids)
  t.equal(new Set(ids).size, 2_000)
  for (const ms of [-HOUR, 2 * HOUR]) {
    shift(ms)
    t.ok(Math.abs(timeOf(newId()) - now().getTime()) < 1_000)
  }
})

t.test('sends are refused while the clock is wrong', async t => {
  const refused = { status: 503, body: { name: 'sending_service_unavailable', message: /clock/ } }
  for (const ms of [-61_000, 61_000]) {
    const headers = { 'idempotency-key': `off by ${ms}` }
    const send = (path: string, body: unknown, more = {}) =>
      api.request('POST', path, { body, headers: { ...headers, ...more } })
    shift(ms)
    const answers = [
      await send('/api/emails', email),
      await send('/api/emails/batch', [email, email]),
      await send('/api/emails/batch', [email, email], { 'x-batch-validation': 'permissive' }),
    ]
    for (const answer of answers) {
      t.match(answer, refused)
      t.equal(answer.headers.get('retry-after'), '10')
    }
    await readDatabaseTime(world.pool)
    t.match(await send('/api/emails', email), { status: 200 })
    t.match(await send('/api/emails/batch', [email, email]), { status: 200 })
  }
  const { rows } = await world.pool.pg.query(
    `SELECT count(*)::int, max(abs(extract(epoch FROM created_at) * 1000 - ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint))::int AS off
     FROM emails`,
  )
  t.equal(rows[0].count, 6)
  t.ok(rows[0].off < 60_000, `${rows[0].off} ms`)
})
