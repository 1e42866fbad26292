import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const post = (path: string, body: unknown) => api.request('POST', `/api${path}`, { body })
const patch = (path: string, body: unknown) => api.request('PATCH', `/api${path}`, { body })
const get = (path: string) => api.request('GET', `/api${path}`)
const remove = (path: string) => api.request('DELETE', `/api${path}`)

t.test('event definitions are created, read by id or name, changed and deleted', async t => {
  const name = 'order/placed 50%'
  const schema = { total: 'number', paid: 'boolean', at: 'date', plan: 'string' }
  const { status, body } = await post('/events', { name, schema })
  t.equal(status, 201)
  const { id } = body
  shows(t, body, { object: 'event', id, name, schema, created_at: /Z$/, updated_at: /Z$/ })
  const byName = `/events/${encodeURIComponent(name)}`
  t.strictSame((await get(`/events/${id}`)).body, body)
  t.strictSame((await get(byName)).body, body)
  t.strictSame((await get('/events')).body, { object: 'list', has_more: false, data: [body] } as never)

  t.strictSame((await patch(byName, { schema: { total: 'string' } })).body, { object: 'event', id } as never)
  shows(t, (await get(byName)).body, { schema: { total: 'string' } })
  await patch(`/events/${id}`, {})
  shows(t, (await get(byName)).body, { schema: { total: 'string' } })
  await patch(`/events/${id}`, { schema: null })
  shows(t, (await get(byName)).body, { schema: {} })
  const fixed = { status: 422, body: { name: 'validation_error', message: '`name` cannot be changed.' } }
  shows(t, await patch(`/events/${id}`, { name: 'other' }), fixed)

  t.strictSame((await remove(byName)).body, { object: 'event', id, deleted: true } as never)
  for (const answer of [await get(byName), await patch(byName, {}), await remove(`/events/${id}`)]) {
    shows(t, answer, { status: 404, body: { message: 'Event not found' } })
  }
})

t.test('an id means its definition, even if the name of another one is the same', async t => {
  const { id } = (await post('/events', { name: 'own' })).body
  await post('/events', { name: id })
  shows(t, (await get(`/events/${id}`)).body, { id, name: 'own' })
})

t.test('an invalid event definition is refused', async t => {
  await post('/events', { name: 'taken' })
  const refused = async (body: unknown, message: string) =>
    shows(t, await post('/events', body), { status: 422, body: { name: 'validation_error', message } }, message)
  await refused({ name: 'taken' }, '`name` is used by another event definition.')
  await refused({}, '`name` must be given.')
  await refused({ name: 1 }, '`name` must be a string.')
  await refused({ name: '' }, '`name` must not be empty.')
  await refused({ name: 'service:x' }, '`name` must not begin with `service:`, which is reserved.')
  await refused({ name: 'x', schema: { n: 'list' } }, '`schema.n` must be `string`, `number`, `boolean` or `date`.')
  await refused(
    { name: 'x', schema: { n: { m: 'string' } } },
    '`schema.n` must be `string`, `number`, `boolean` or `date`.',
  )
  await refused({ name: 'x', schema: [] }, '`schema` must be an object.')
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, 'string']))
  await refused({ name: 'x', schema: many }, '`schema` must have at most 100 keys.')
  shows(t, await post('/events', { name: 'X'.repeat(255), schema: null }), { status: 201, body: { schema: {} } })
})

t.test('a payload is checked against the schema of its event', async t => {
  const [ann] = await addContacts(world, account, ['ann@b.com'])
  await post('/events', { name: 'typed', schema: { text: 'string', count: 'number', ok: 'boolean', at: 'date' } })
  const send = (payload: object) =>
    post('/events/send', { event: 'typed', domain: account.domain, contact_id: ann, payload })
  const right = [
    ...[{}, { text: '', count: -1.5, ok: false, at: '2026-11-23' }, { text: null }, { other: [1, { a: 2 }] }],
    ...[{ at: '2026-11-23T10:00:00Z' }, { at: '2026-11-23T10:00:00.5+02:00' }, { at: '2026-11-23T10:00:00' }],
  ]
  for (const payload of right) shows(t, await send(payload), { status: 202 }, JSON.stringify(payload))
  const wrong = [
    [{ text: 1 }, '`payload["text"]` must be a string.'],
    [{ count: '1' }, '`payload["count"]` must be a number.'],
    [{ ok: 'true' }, '`payload["ok"]` must be `true` or `false`.'],
    [{ at: 'yesterday' }, '`payload["at"]` must be an ISO 8601 date or timestamp.'],
    [{ at: 1 }, '`payload["at"]` must be an ISO 8601 date or timestamp.'],
  ] as const
  for (const [payload, message] of wrong) {
    shows(t, await send(payload), { status: 422, body: { name: 'validation_error', message } }, message)
  }
  t.equal((await get('/events/typed/recent')).body.data.length, right.length, 'an invalid event starts no run')
})

t.test('GET /events/:id/recent returns the newest hundred', async t => {
  const [bob] = await addContacts(world, account, ['bob@b.com'])
  const send = (n: number) =>
    post('/events/send', { event: 'many', domain: account.domain, contact_id: bob, payload: { n } })
  for (let n = 0; n < 110; n += 11) await Promise.all(Array.from({ length: 11 }, (_, more) => send(n + more)))
  const { body } = await get('/events/many/recent')
  t.equal(body.data.length, 100)
  const ids = body.data.map(({ id }) => id)
  t.strictSame(ids, ids.toSorted().reverse())
  const { id } = (await post('/events', { name: 'many' })).body
  t.strictSame((await get(`/events/${id}/recent`)).body, body)
  for (const name of ['unknown', '%00']) {
    shows(t, await get(`/events/${name}/recent`), { status: 404, body: { message: 'Event not found' } })
  }
})
