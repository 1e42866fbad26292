import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { readDatabaseTime } from '#flows/process/sync_clock.ts'
import { now, setClock } from '#lib/clock.ts'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }

const HOUR = 3_600_000
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const send = (fields: Record<string, unknown>, headers: Record<string, string> = {}) =>
  api.request('POST', '/api/emails', { body: { ...email, ...fields }, headers })
const read = async (id: string) => (await api.request('GET', `/api/emails/${id}`)).body
const patch = (id: string, body: unknown) => api.request('PATCH', `/api/emails/${id}`, { body })
const cancel = (id: string) => api.request('POST', `/api/emails/${id}/cancel`)
const schedule = async (fields = {}) => (await send({ scheduled_at: 'in 2 hours', ...fields })).body.id

t.test('a scheduled email waits until it is due, and has no job', async t => {
  const scheduled_at = inMs(48 * HOUR)
  const { status, body } = await send({ scheduled_at, cc: ['carl@c.com'] })
  t.equal(status, 200)
  const queue = ['bob@b.com', 'carl@c.com'].map(recipient => ({
    recipient,
    state: 'queued',
    reason: 'It is not due yet.',
    next_attempt_at: scheduled_at,
  }))
  shows(t, await read(body.id), { status: 'scheduled', last_event: 'scheduled', scheduled_at, events: [], queue })
  t.strictSame(await countJobs(body.id), 0)
  t.strictSame(await countJobs((await send({})).body.id), 1)
})

t.test('a phrase in `scheduled_at` is relative to now', async t => {
  const found = await read(await schedule())
  const { scheduled_at } = found as unknown as { scheduled_at: string }
  t.ok(Math.abs(Date.parse(scheduled_at) - Date.now() - 2 * HOUR) < 60_000, scheduled_at)
})

t.test('`scheduledAt` works like `scheduled_at`', async t => {
  const { id } = (await send({ scheduledAt: 'in 2 hours' })).body
  t.equal((await read(id)).status, 'scheduled')
  const scheduled_at = inMs(5 * HOUR)
  t.match(await patch(id, { scheduledAt: scheduled_at }), { status: 200, body: { scheduled_at } })
  const batch = await api.request('POST', '/api/emails/batch', { body: [{ ...email, scheduledAt: 'in 2 hours' }] })
  t.equal((await read(batch.body.data[0]?.id as string)).status, 'scheduled')
})

t.test('PATCH /emails/:id moves a scheduled email and its deliveries', async t => {
  const id = await schedule()
  const scheduled_at = inMs(5 * HOUR)
  t.match(await patch(id, { scheduled_at }), { status: 200, body: { object: 'email', id, scheduled_at } })
  shows(t, await read(id), { status: 'scheduled', scheduled_at, queue: [{ next_attempt_at: scheduled_at }] })
  t.match(await patch(id, { scheduled_at: 'in 3 hours' }), { status: 200 })
})

t.test('POST /emails/:id/cancel cancels a scheduled email', async t => {
  const id = await schedule({ cc: ['carl@c.com'] })
  t.strictSame((await cancel(id)).body, { object: 'email', id, status: 'canceled' })
  const found = await read(id)
  shows(t, found, { status: 'canceled', last_event: 'canceled', events: [{ type: 'canceled' }] })
  t.notOk('queue' in found)
  for (const again of [await cancel(id), await patch(id, { scheduled_at: 'in 1 hour' })]) {
    t.match(again, { status: 422, body: { name: 'validation_error', message: /this one is canceled\.$/ } })
  }
})

t.test('only a scheduled email can be moved or canceled', async t => {
  const { id } = (await send({})).body
  t.match(await cancel(id), { status: 422, body: { message: /^Only a scheduled email can be canceled; .* queued\.$/ } })
  t.match(await patch(id, { scheduled_at: 'in 1 hour' }), { status: 422, body: { message: /can be rescheduled; / } })
  t.match(await cancel(uuid()), { status: 404, body: { name: 'not_found' } })
})

t.test('an invalid `scheduled_at` is refused and changes nothing', async t => {
  const id = await schedule()
  const before = await read(id)
  for (const [scheduled_at, message] of [
    ['soon', /^`scheduled_at` must be an ISO 8601 timestamp or a phrase/],
    ['', /must be an ISO 8601 timestamp/],
    [5, /^`scheduled_at` must be a string\.$/],
    ['2020-01-01T00:00:00Z', /must be in the future/],
    ['yesterday', /must be in the future/],
    [inMs(-10_000), /must be in the future/],
    [inMs(30 * 24 * HOUR + 60_000), /within the next 30 days/],
  ] as const) {
    const refused = { status: 422, body: { name: 'validation_error', message } }
    t.match(await send({ scheduled_at }), refused, `POST ${scheduled_at}`)
    t.match(await patch(id, { scheduled_at }), refused, `PATCH ${scheduled_at}`)
  }
  t.match(await patch(id, {}), { status: 422, body: { name: 'missing_required_field' } })
  t.match(await patch(id, { scheduled_at: null }), { status: 422, body: { name: 'validation_error' } })
  t.match(await patch(uuid(), {}), { status: 404 }, 'what is not there comes first')
  t.strictSame(await read(id), before)
  t.match(await send({ scheduled_at: inMs(30 * 24 * HOUR - 60_000) }), { status: 200 })
  t.match(await send({ scheduled_at: null }), { status: 200 })
})

t.test('schedule_fault() tolerates a process clock that is a minute off', async t => {
  const { rows } = await world.pool.pg.query(
    `SELECT n, schedule_fault(now() + n * interval '1 second') AS past,
       schedule_fault(now() + interval '30 days' + n * interval '1 second') AS far
     FROM unnest(ARRAY[-61, -60, 60, 61]) AS n ORDER BY n`,
  )
  t.strictSame(rows, [
    { n: -61, past: 'schedule_past', far: null },
    { n: -60, past: null, far: null },
    { n: 60, past: null, far: null },
    { n: 61, past: null, far: 'schedule_too_far' },
  ])
})

t.test('`now` and `in 30 days` are accepted despite an inexact process clock', async t => {
  t.teardown(() => readDatabaseTime(world.pool))
  const phrases = fc.constantFrom('now', 'in 30 days', 'in 720 hours', 'in 4 weeks', 'in 2 seconds')
  await fc.assert(
    fc.asyncProperty(phrases, fc.integer({ min: -30_000, max: 30_000 }), async (phrase, ms) => {
      await readDatabaseTime(world.pool)
      setClock(now().getTime() + ms, performance.now())
      const { status, text, body } = await send({ scheduled_at: phrase })
      t.equal(status, 200, `${phrase}, ${ms} ms: ${text}`)
      const isNow = phrase === 'now'
      t.equal((await read(body.id)).status, isNow ? 'queued' : 'scheduled', phrase)
      t.equal((await patch(await schedule(), { scheduled_at: phrase })).status, 200, phrase)
      const batch = await api.request('POST', '/api/emails/batch', { body: [{ ...email, scheduled_at: phrase }] })
      t.equal(batch.status, 200, batch.text)
    }),
    { numRuns: 15 },
  )
})

t.test('`scheduled_at`: now sends at once', async t => {
  const { id } = (await send({ scheduled_at: 'now' })).body
  shows(t, await read(id), { status: 'queued', scheduled_at: null })
  t.equal(await countJobs(id), 1)
  t.match(await send({ scheduled_at: inMs(-1_000) }), { status: 200 })
  t.match(await send({ to: `delivered@${world.config.SIMULATOR_DOMAIN}`, scheduled_at: 'now' }), { status: 200 })
  const moved = await schedule()
  t.match(await patch(moved, { scheduled_at: 'now' }), { status: 200 })
  const { rows } = await world.pool.pg.query('SELECT next_at <= now() AS due FROM deliveries WHERE email_id = $1', [
    moved,
  ])
  t.same(rows, [{ due: true }])
})

t.test('a retry replays after its `scheduled_at` has passed', async t => {
  const { scheduled_at, headers, first } = await acceptJustInTime()
  t.equal(first.status, 200, first.text)
  await sleep(Date.parse(scheduled_at) - Date.now() + 2_100)
  const again = await send({ scheduled_at }, headers)
  t.match(again, { status: 200, text: first.text })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.match(await send({ scheduled_at }, { 'idempotency-key': 'another' }), { status: 422 })
})

/** Accepts an email scheduled in the very near future, or later on a busy machine. */
async function acceptJustInTime() {
  for (let ms = 300; ; ms *= 4) {
    const scheduled_at = inMs(ms)
    const headers = { 'idempotency-key': `just in time, ${ms}` }
    const first = await send({ scheduled_at }, headers)
    if (first.status === 200 || ms > 10_000) return { scheduled_at, headers, first }
  }
}

t.test('the simulator refuses scheduled emails', async t => {
  const to = `delivered@${world.config.SIMULATOR_DOMAIN}`
  t.match(await send({ to, scheduled_at: 'in 1 hour' }), { status: 422, body: { name: 'validation_error' } })
  t.match(await send({ cc: to, scheduled_at: 'in 1 hour' }), { status: 422 })
  const body = [email, { ...email, to, scheduled_at: 'in 1 hour' }]
  t.match(await api.request('POST', '/api/emails/batch', { body }), {
    status: 422,
    body: { message: /^emails\[1\]: / },
  })
  t.match(await send({ to }), { status: 200 })
})

async function countJobs(email_id: string): Promise<number> {
  const { rows } = await world.pool.pg.query(
    `SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs WHERE (payload->'email_ids')::jsonb @> to_jsonb($1::text)`,
    [email_id],
  )
  return rows[0].jobs
}
