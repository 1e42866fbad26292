import t from 'tap'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { count_segment } from '#tasks/count_segment.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { startApi } from '#test/support/api.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world, 'capture')
const { domain, domain_id } = account
const { pg } = world.pool

const post = (path: string, body: object = {}) => api.request('POST', `/api${path}`, { body })
const patch = (path: string, body: object) => api.request('PATCH', `/api${path}`, { body })
const remove = (path: string) => api.request('DELETE', `/api${path}`)
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const emailsOf = (page: { data: object[] }) => page.data.map(contact => (contact as { email: string }).email)

await post('/contact-properties', { key: 'plan', type: 'string', fallback_value: 'free' })
await post('/contact-properties', { key: 'seats', type: 'number' })
for (const contact of [
  { email: 'ann@acme.com', properties: { plan: 'Pro', seats: 5 } },
  { email: 'bob@acme.com', unsubscribed: true },
  { email: 'cy@other.org', first_name: 'Cy' },
]) {
  await post('/contacts', contact)
}

const DEFAULTS = { status: 'all', email_contains: null, property_filters: [], engagement: null }

t.test('POST /segments creates a segment, whose filter finds its contacts', async t => {
  const filter = {
    status: 'subscribed',
    email_contains: 'ACME',
    property_filters: [{ key: 'plan', operator: 'exists' }],
  }
  const { status, body } = await post('/segments', { name: 'Pros', domain, filter })
  t.equal(status, 201)
  const record = {
    ...{ object: 'segment', audience_id: domain_id, name: 'Pros', filter: { ...DEFAULTS, ...filter }, rules: null },
    ...{ contacts_count: null, counted_at: null },
  }
  shows(t, body, record)
  t.strictSame(await get(`/segments/${body.id}`), body)
  t.strictSame(emailsOf(await get(`/segments/${body.id}/contacts`)), ['ann@acme.com'])
  t.strictSame(emailsOf(await get(`/contacts?domain=${domain}&segment_id=${body.id}`)), ['ann@acme.com'])

  const { contacts_count, counted_at, ...listed } = body as unknown as Record<string, unknown>
  shows(t, (await get(`/segments?domain=${domain}`)).data[0], listed)
  t.notOk('contacts_count' in ((await get('/segments')).data[0] as object))

  t.strictSame((await patch(`/segments/${body.id}`, { filter: { property_filters: [] } })).body, {
    ...{ object: 'segment', id: body.id },
  })
  shows(t, await get(`/segments/${body.id}`), { filter: { ...DEFAULTS, status: 'subscribed', email_contains: 'ACME' } })
  await patch(`/segments/${body.id}`, { filter: null })
  shows(t, await get(`/segments/${body.id}`), { filter: DEFAULTS })
  for (const fixed of ['domain', 'audience_id']) {
    const refused = await patch(`/segments/${body.id}`, { [fixed]: domain_id })
    shows(t, refused, { status: 422, body: { message: `\`${fixed}\` cannot be changed.` } })
  }
  t.strictSame((await remove(`/segments/${body.id}`)).body, { object: 'segment', id: body.id, deleted: true })
  shows(t, await get(`/segments/${body.id}`), { message: 'Segment not found' })
})

t.test('the General segment has every contact of its domain, and cannot be changed', async t => {
  t.strictSame(emailsOf(await get(`/segments/${domain_id}/contacts`)), ['cy@other.org', 'bob@acme.com', 'ann@acme.com'])
  shows(t, await get(`/segments/${domain_id}`), { name: 'General', audience_id: domain_id, filter: DEFAULTS })
  shows(t, await patch(`/segments/${domain_id}`, { name: 'All' }), { status: 422 })
  shows(t, (await remove(`/segments/${domain_id}`)).body, {
    message: 'The segment General of a domain cannot be deleted.',
  })
})

t.test('contacts are added to and removed from a segment by hand', async t => {
  const { body: contact } = await post('/contacts', { email: 'hand@b.com' })
  const { body: segment } = await post('/segments', { name: 'By hand', domain, filter: { status: 'members_only' } })
  const path = `/contacts/${contact.id}/segments/${segment.id}`
  const membership = {
    ...{ object: 'contact_segment', id: segment.id, contact_id: contact.id, segment_id: segment.id },
  }
  t.strictSame(await get(`/segments/${segment.id}/contacts`), { object: 'list', has_more: false, data: [] })
  t.strictSame((await post(path)).body, membership)
  t.strictSame((await post(`/contacts/hand@b.com/segments/${segment.id}`)).body, membership)
  t.strictSame(emailsOf(await get(`/segments/${segment.id}/contacts`)), ['hand@b.com'])
  const names = async () => (await get(`/contacts/${contact.id}/segments`)).data.map(({ name }) => name)
  t.strictSame(await names(), ['By hand', 'General'])
  t.strictSame((await get(`/contacts/${contact.id}/segments?limit=1`)).data[0]?.name, 'By hand')
  t.strictSame((await get(`/contacts/${contact.id}/segments?limit=1&before=${domain_id}`)).data[0]?.name, 'By hand')

  t.strictSame((await remove(path)).body, { ...membership, audienceId: segment.id, deleted: true })
  t.strictSame(await names(), ['General'])
  const outside = 'The contact is not in the segment.'
  shows(t, (await remove(path)).body, { statusCode: 404, name: 'not_found', message: outside })
  const byFilter = 'The contact was not added to the segment by hand: it matches by filter.'
  shows(t, (await remove(`/contacts/${contact.id}/segments/${domain_id}`)).body, { statusCode: 404, message: byFilter })

  const other = await addOtherDomain(world, account)
  shows(t, (await post(`/contacts/${contact.id}/segments/${other.id}`)).body, { message: 'Segment not found' })
  const joining = { email: 'hand@b.com', domain: other.name, segments: [segment.id] }
  shows(t, (await post('/contacts', joining)).body, { message: 'Segment not found' })
  shows(t, await get(`/contacts?domain=${other.name}&segment_id=${segment.id}`), { message: 'Segment not found' })
  shows(t, await get(`/contacts?domain=${domain}&segment_id=${newId()}`), { message: 'Segment not found' })
})

t.test('GET /segments/:id/contacts accepts an audience id', async t => {
  const { body: audience } = await post('/audiences', { name: 'News', domain })
  for (const email of ['ann@acme.com', 'bob@acme.com']) await post(`/audiences/${audience.id}/contacts`, { email })
  t.strictSame(emailsOf(await get(`/segments/${audience.id}/contacts`)), ['bob@acme.com', 'ann@acme.com'])
  shows(t, await get(`/contacts?domain=${domain}&segment_id=${audience.id}`), { message: 'Segment not found' })
  const { body: segment } = await post('/segments', { name: 'In', domain, filter: { status: 'subscribed' } })
  t.strictSame(emailsOf(await get(`/audiences/${audience.id}/contacts?segment_id=${segment.id}`)), ['ann@acme.com'])
})

t.test('GET /segments/:id returns a count, which a job refreshes', async t => {
  const { body } = await post('/segments', { name: 'Counted', domain, filter: { email_contains: '@acme.com' } })
  shows(t, await get(`/segments/${body.id}`), { contacts_count: null })
  await get(`/segments/${body.id}`)
  const { rows } = await pg.query(`SELECT payload FROM graphile_worker._private_jobs WHERE key = $1`, [
    `count_segment ${body.id}`,
  ])
  t.strictSame(rows, [{ payload: { account_id: account.id, id: body.id } }])
  const count = async (id: string) => {
    await count_segment({ account_id: account.id, id }, work)
    return (await get(`/segments/${id}`)) as unknown as { contacts_count: number; counted_at: string }
  }
  const first = await count(body.id)
  t.equal(first.contacts_count, 2)
  await post('/contacts', { email: 'dan@acme.com', domain })
  const { body: cy } = await api.request('GET', '/api/contacts/cy@other.org')
  await post(`/contacts/${cy.id}/segments/${body.id}`)
  await post(`/contacts/dan@acme.com/segments/${body.id}`)
  t.strictSame(await count(body.id), first, 'it is not counted again within a minute')
  await pg.query(`UPDATE segments SET counted_at = now() - interval '61 seconds' WHERE id = $1`, [body.id])
  t.equal((await count(body.id)).contacts_count, 4)
  await patch(`/segments/${body.id}`, { name: 'Counted before' })
  shows(t, await get(`/segments/${body.id}`), { contacts_count: 4 })
  await patch(`/segments/${body.id}`, { filter: { email_contains: 'b' } })
  shows(t, await get(`/segments/${body.id}`), { contacts_count: null, counted_at: null })
  const all = await get(`/contacts?domain=${domain}`)
  t.equal((await count(domain_id)).contacts_count, all.data.length)
})

t.test('a count that was begun before a segment was changed is not stored', async t => {
  const { id } = (await post('/segments', { name: 'Changing', domain, filter: { status: 'members_only' } })).body
  await pg.query('UPDATE segments SET counted_at = NULL, contacts_count = NULL WHERE id = $1', [id])
  const change = await begin(world, tx =>
    tx.run(sql.unsafe`UPDATE segments SET updated_at = now() + interval '1 second' WHERE id = ${id}`),
  )
  const counting = count_segment({ account_id: account.id, id }, work)
  await untilBlocked(world, '%UPDATE segments%')
  await change.commit()
  await counting
  t.strictSame((await pg.query('SELECT counted_at FROM segments WHERE id = $1', [id])).rows, [{ counted_at: null }])
})

t.test('a deleted segment leaves no members', async t => {
  const { body } = await post('/segments', { name: 'Short', domain })
  await post(`/contacts/ann@acme.com/segments/${body.id}`)
  await remove(`/segments/${body.id}`)
  await remove_leftovers({ account_id: account.id, of: 'segment', id: body.id }, work)
  const { rows } = await pg.query('SELECT FROM segment_members WHERE segment_id = $1', [body.id])
  t.equal(rows.length, 0)
})

t.test('a property that a segment uses cannot be deleted', async t => {
  const { body: property } = await post('/contact-properties', { key: 'city', type: 'string' })
  const filter = { property_filters: [{ key: 'city', operator: 'eq', value: 'Rome' }] }
  const rules = { not: { or: [{ field: 'properties.city', operator: 'exists' }] } }
  for (const criteria of [{ filter }, { rules }]) {
    const { body } = await post('/segments', { name: 'Romans', domain, ...criteria })
    shows(t, (await remove(`/contact-properties/${property.id}`)).body, {
      statusCode: 422,
      message: 'The property is used by the segment "Romans": change its filter first.',
    })
    await remove(`/segments/${body.id}`)
  }
  shows(t, await remove(`/contact-properties/${property.id}`), { status: 200 })
})

t.test('rules that are given again as they are may name a deleted topic', async t => {
  const { id: topic } = (await post('/topics', { name: 'Gone', default_subscription: 'opt_in' })).body
  const rules = {
    or: [
      { field: 'topic', operator: 'eq', value: topic },
      { field: 'email', operator: 'eq', value: 'x@y.z' },
    ],
  }
  const { id } = (await post('/segments', { name: 'Of a topic', domain, rules })).body
  await remove(`/topics/${topic}`)
  t.equal((await patch(`/segments/${id}`, { name: 'Renamed', rules })).status, 200)
})
