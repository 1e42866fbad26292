import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { domain, domain_id } = account

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body

t.test('POST /contacts creates a contact, or changes an existing one', async t => {
  await post('/contact-properties', { key: 'plan', type: 'string', fallback_value: 'free' })
  await post('/contact-properties', { key: 'seats', type: 'number' })
  const given = { email: 'Ada@B.com', first_name: 'Ada', properties: { seats: 3 } }
  const { status, body } = await post('/contacts', given)
  t.equal(status, 201)
  const record = {
    object: 'contact',
    email: 'ada@b.com',
    first_name: 'Ada',
    last_name: null,
    unsubscribed: false,
    properties: { plan: 'free', seats: 3 },
    domain_id,
    audience_ids: [domain_id],
  }
  shows(t, body, { ...record, id: /./ })

  const changed = await post('/contacts', {
    email: 'ada@b.com',
    last_name: 'L',
    properties: { plan: 'pro', seats: null },
  })
  t.equal(changed.status, 200)
  shows(t, changed.body, { ...record, id: body.id, last_name: 'L', properties: { plan: 'pro' } })
  t.strictSame(await get(`/contacts/${body.id}`), { ...changed.body, consents: [] })
  t.strictSame(await get('/contacts/ada@b.com'), { ...changed.body, consents: [] })
})

t.test('PATCH /contacts/:id changes only the given fields', async t => {
  const { body } = await post('/contacts', { email: 'pat@b.com', first_name: 'P', last_name: 'T' })
  const patch = (path: string, fields: object) => api.request('PATCH', `/api/contacts/${path}`, { body: fields })
  t.strictSame((await patch(body.id, { first_name: '' })).body, { object: 'contact', id: body.id })
  shows(t, await get(`/contacts/${body.id}`), { first_name: null, last_name: 'T' })
  t.equal((await patch('pat@b.com', { last_name: null, domain })).status, 200)
  shows(t, await get(`/contacts/${body.id}`), { first_name: null, last_name: null })

  shows(t, (await patch('pat@b.com', { last_name: 'x' })).body, { name: 'validation_error' })
  shows(t, (await patch(body.id, { email: 'q@b.com' })).body, { message: '`email` cannot be changed.' })
  shows(t, (await patch(newId(), { first_name: 5 })).body, { message: 'Contact not found' })
  const unknown = '`properties` has the key "x", which is not a contact property.'
  shows(t, (await patch(body.id, { properties: { x: 1 } })).body, { message: unknown })
  shows(t, (await patch(body.id, { properties: { seats: 'x' } })).body, {
    message: '`properties.seats` must be a number.',
  })
})

t.test('a deleted contact that had unsubscribed is still unsubscribed when created again', async t => {
  const { body } = await post('/contacts', { email: 'gone@b.com' })
  await api.request('PATCH', `/api/contacts/${body.id}`, { body: { unsubscribed: true } })
  const deleted = await api.request('DELETE', `/api/contacts/${body.id}`)
  t.strictSame(deleted.body, { object: 'contact', id: body.id, contact: body.id, deleted: true })
  shows(t, await get(`/contacts/${body.id}`), { message: 'Contact not found' })

  const again = await post('/contacts', { email: 'gone@b.com' })
  shows(t, { status: again.status, body: again.body }, { status: 201, body: { unsubscribed: true } })
  shows(t, (await post('/contacts', { email: 'gone@b.com', first_name: 'G' })).body, { unsubscribed: true })
  shows(t, (await post('/contacts', { email: 'gone@b.com', unsubscribed: false })).body, { unsubscribed: false })
  const { rows } = await world.pool.pg.query('SELECT id FROM api_keys WHERE account_id = $1 ORDER BY id', [account.id])
  const by = { topic_id: null, how: 'api', source_id: rows[0].id, client_address: '127.0.0.1' }
  shows(t, await get('/contacts/gone@b.com'), {
    consents: [
      { ...by, subscription: 'opt_in' },
      { ...by, subscription: 'opt_out' },
    ],
  })
})

t.test('a contact is found by an address with slashes, encoded or not', async t => {
  const email = 'a/b//c=d@b.com'
  const { body: contact } = await post('/contacts', { email, domain })
  for (const named of [email, encodeURIComponent(email)]) {
    shows(t, await get(`/contacts/${named}?domain=${domain}`), { id: contact.id, email })
    shows(t, await get(`/audiences/${domain_id}/contacts/${named}`), { id: contact.id })
    shows(t, await get(`/contacts/${named}/topics?domain=${domain}`), { object: 'list' })
  }
})

t.test('GET /contacts lists the contacts of a domain in pages, newest first', async t => {
  const other = await addOtherDomain(world, account, 'list')
  const ids: string[] = []
  for (const n of [1, 2, 3])
    ids.unshift((await post('/contacts', { email: `l${n}@b.com`, domain: other.name })).body.id)
  const list = (query: string) => get(`/contacts?domain=${other.name}${query}`)
  const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id)
  t.strictSame(idsOf(await list('')), ids)
  const first = await list('&limit=2')
  shows(t, first, { object: 'list', has_more: true })
  t.strictSame(idsOf(first), ids.slice(0, 2))
  t.strictSame(idsOf(await list(`&limit=2&after=${ids[1]}`)), ids.slice(2))
  for (const unknown of [`after=${newId()}`, `before=${newId()}`]) {
    t.strictSame(await list(`&${unknown}`), { object: 'list', has_more: false, data: [] })
  }
  shows(t, await get('/contacts'), { statusCode: 422, name: 'validation_error' })
  shows(t, await get('/contacts?domain=not-mine.com'), { statusCode: 422, name: 'validation_error' })
})

t.test('an audience has members, an exact count and a unique name', async t => {
  const { status, body: audience } = await post('/audiences', { name: 'News', domain })
  t.equal(status, 201)
  shows(t, audience, { object: 'audience', name: 'News', domain_id, domain, contacts_count: 0 })
  shows(t, await post('/audiences', { name: 'News', domain }), { status: 409 })
  const path = `/audiences/${audience.id}/contacts`
  const { body: contact } = await post(path, { email: 'member@b.com' })
  shows(t, contact, { audience_ids: [domain_id, audience.id] })
  shows(t, await get(`/audiences/${audience.id}`), { contacts_count: 1 })
  shows(t, await get(path), { data: [{ id: contact.id }] })

  const left = await api.request('DELETE', `/api${path}/member@b.com`)
  t.strictSame(left.body, { object: 'contact', id: contact.id, contact: contact.id, deleted: true })
  shows(t, await get(`/audiences/${audience.id}`), { contacts_count: 0 })
  shows(t, await get(`/contacts/${contact.id}`), { audience_ids: [domain_id] })

  const { rows } = await world.pool.pg.query('SELECT count(*)::int AS n FROM contacts WHERE domain_id = $1', [
    domain_id,
  ])
  shows(t, await get(`/audiences/${domain_id}`), { name: 'Default', contacts_count: rows[0].n })
  shows(t, (await api.request('DELETE', `/api/audiences/${domain_id}`)).body, { statusCode: 422 })
})

t.test('a contact that is created again records an opt-in, and no opt-out of its own', async t => {
  const consentsOf = async () =>
    Object(await get('/contacts/again@b.com')).consents.map(
      ({ subscription }: { subscription: string }) => subscription,
    )
  await post('/contacts', { email: 'again@b.com', domain, unsubscribed: true })
  await api.request('DELETE', '/api/contacts/again@b.com')
  await post('/contacts', { email: 'again@b.com', domain })
  t.strictSame(await consentsOf(), ['opt_out'])
  await api.request('DELETE', '/api/contacts/again@b.com')
  shows(t, await post('/contacts', { email: 'again@b.com', domain, unsubscribed: false }), {
    body: { unsubscribed: false },
  })
  t.strictSame(await consentsOf(), ['opt_in', 'opt_out'])
})

t.test('ids in the body of a contact may have capitals', async t => {
  const count = async () => Object(await get(`/audiences/${domain_id}`)).contacts_count
  const before = await count()
  const { body } = await post('/contacts', { email: 'capitals@b.com', audience_id: domain_id.toUpperCase() })
  shows(t, body, { audience_ids: [domain_id] })
  t.equal(await count(), before + 1)
  const { id } = (await post('/topics', { name: 'Capitals', default_subscription: 'opt_in' })).body
  const topics = [
    { id, subscription: 'opt_in' },
    { id: String(id).toUpperCase(), subscription: 'opt_out' },
  ]
  const { status } = await api.request('PATCH', '/api/contacts/capitals@b.com/topics', { body: { topics } })
  t.equal(status, 200)
  shows(t, await get('/contacts/capitals@b.com/topics'), { data: [{ choice: 'opt_out' }] })
})
