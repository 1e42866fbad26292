import t from 'tap'
import { moment, timestampField } from '#lib/zod_fields.ts'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const days = ['0000-01-01', '0000-12-31', '0001-01-01', '2024-02-29', '9999-12-31']
const offsets = ['Z', '+14:00', '-15:59', '+16:00', '+23:59', '-23:59']
const times = ['00:00:00', '23:59:59', '12:00:00.123456789']
const texts = days.flatMap(day => offsets.flatMap(offset => times.map(time => `${day}T${time}${offset}`)))

t.test('every time that requests accept can be stored in Postgres', async t => {
  const accepted = [...days, ...texts].flatMap(text => {
    const [one, other] = [moment.safeParse(text).data, timestampField('must be a time').safeParse(text).data]
    return [one, other].flatMap(at => (at ? [at.toISOString()] : []))
  })
  const { rows } = await world.pool.pg.query('SELECT count(at::timestamptz)::int AS n FROM unnest($1::text[]) AS at', [
    accepted,
  ])
  t.equal(rows[0].n, accepted.length)
  t.ok(accepted.length > texts.length, 'most of them are accepted')
})

t.test('a time that Postgres cannot store is refused everywhere', async t => {
  for (const value of ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+14:00', '9999-12-31T23:59:59-23:59']) {
    const rules = { field: 'created_at', operator: 'before', value }
    shows(t, await api.request('POST', '/api/segments', { body: { name: value, rules } }), { status: 422 })
    const body = { email: 'a@b.com', expires_at: value }
    shows(t, await api.request('POST', '/api/suppressions', { body }), { status: 422 })
    const csv = `email,expires_at\nleft@b.com,${value}\nright@b.com,\n`
    const imported = await api.request('POST', '/api/suppressions/import', { body: { csv } })
    shows(t, imported, { status: 200, body: { total: 2, failed: 1 } })
    for (const path of [
      'emails?created_after',
      'emails/metrics?start_date',
      'logs?created_before',
      'emails?created_before',
    ]) {
      shows(t, await api.request('GET', `/api/${path}=${encodeURIComponent(value)}`), { status: 422 }, path)
    }
  }
})
