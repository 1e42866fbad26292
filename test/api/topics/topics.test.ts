import t from 'tap'
import { newId } from '#lib/ids.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newListener, takeEvents } from '#test/support/webhooks/webhook_events.ts'
import { addDomain, addOtherDomain, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newListener(world)
const api = await startApi(t, world, account.key)

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const patch = (path: string, body: unknown) => api.request('PATCH', `/api${path}`, { body: body as object })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const takeOwnEvents = () => takeEvents(world, account.id)
const remove = (path: string) => api.request('DELETE', `/api${path}`)

async function makeTopic(name: string, fields: object = {}): Promise<string> {
  return (await post('/topics', { name, default_subscription: 'opt_in', ...fields })).body.id
}

t.test('topics are created, changed, listed and deleted, with webhook events', async t => {
  await takeOwnEvents()
  const { status, body } = await post('/topics', { name: 'News', default_subscription: 'opt_out', description: '' })
  t.equal(status, 201)
  const { id } = body
  const record = {
    ...{ object: 'topic', id, name: 'News', description: null, default_subscription: 'opt_out' },
    ...{ visibility: 'private', domain_id: null },
  }
  shows(t, body, { ...record, created_at: /^\d{4}-.*Z$/, updated_at: /^\d{4}-.*Z$/ })
  t.strictSame(await get(`/topics/${id}`), body)
  t.strictSame(await get('/topics'), { object: 'list', has_more: false, data: [body] })

  const changed = await patch(`/topics/${id}`, { id, description: 'All of it', visibility: 'public' })
  t.strictSame([changed.status, changed.body], [200, { object: 'topic', id }])
  const now = { ...record, description: 'All of it', visibility: 'public' }
  shows(t, await get(`/topics/${id}`), now)
  await patch(`/topics/${id}`, { name: 'Newer' })
  shows(t, await get(`/topics/${id}`), { ...now, name: 'Newer' })

  t.strictSame((await remove(`/topics/${id}`)).body, { object: 'topic', id, deleted: true })
  for (const answer of [await remove(`/topics/${id}`), await patch(`/topics/${id}`, {})]) {
    shows(t, answer, { status: 404, body: { message: 'Topic not found' } })
  }
  shows(t, await get(`/topics/${id}`), { statusCode: 404 })
  shows(t, await takeOwnEvents(), [
    { type: 'topic.created', data: { ...record, deleted: false } },
    { type: 'topic.updated', data: { ...now, deleted: false } },
    { type: 'topic.updated', data: { ...now, name: 'Newer', deleted: false } },
    { type: 'topic.deleted', data: { ...now, name: 'Newer', deleted: true } },
  ])
})

t.test('the name of a topic is unique in the account', async t => {
  await makeTopic('Once')
  const other = await makeTopic('Other')
  const taken = { status: 409, body: { name: 'validation_error', message: '`name` is used by another topic.' } }
  shows(t, await post('/topics', { name: 'Once', default_subscription: 'opt_in' }), taken)
  shows(t, await patch(`/topics/${other}`, { name: 'Once' }), taken)
  t.equal((await patch(`/topics/${other}`, { name: 'Other' })).status, 200)
})

t.test('the default subscription of a topic and its domain cannot be changed', async t => {
  const id = await makeTopic('Fixed')
  for (const field of ['default_subscription', 'domain_id', 'domain']) {
    const message = `\`${field}\` cannot be changed.`
    shows(t, await patch(`/topics/${id}`, { [field]: 'opt_out' }), { status: 422, body: { message } })
  }
  const message = 'Missing `default_subscription` field.'
  shows(t, await post('/topics', { name: 'x' }), { status: 422, body: { name: 'missing_required_field', message } })
})

t.test('a topic of a domain applies only to contacts of that domain', async t => {
  const other = await addOtherDomain(world, account, 'topics')
  const own = await makeTopic('Of a domain', { domain_id: other.id })
  const missing = await post('/topics', { name: 'y', default_subscription: 'opt_in', domain_id: newId() })
  shows(t, missing, { status: 404, body: { message: 'Domain not found' } })

  const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id)
  const all = idsOf(await get('/topics'))
  t.strictSame(all[0], own)
  t.strictSame(idsOf(await get(`/topics?domain=${other.name}`)), all)
  t.strictSame(idsOf(await get(`/topics?domain=${account.domain}`)), all.slice(1))
  const here = (await post('/contacts', { email: 'here@b.com', domain: account.domain })).body.id
  const there = (await post('/contacts', { email: 'there@b.com', domain: other.name })).body.id
  t.strictSame(idsOf(await get(`/contacts/${here}/topics`)), all.slice(1))
  t.strictSame(idsOf(await get(`/contacts/${there}/topics`)), all)
  t.strictSame(idsOf(await get(`/contacts/${there}/topics?limit=1`)), all.slice(0, 1))
  const choice = [{ id: own, subscription: 'opt_out' }]
  shows(t, await patch(`/contacts/${here}/topics`, choice), { status: 404, body: { message: 'Topic not found' } })
  t.equal((await patch(`/contacts/${there}/topics`, choice)).status, 200)
  await remove(`/domains/${other.id}?with_contacts=true`)
  shows(t, await get(`/topics/${own}`), { statusCode: 404 })
})

t.test('PATCH /contacts/:id/topics opts a contact in and out of topics', async t => {
  const [weekly, offers] = [await makeTopic('Weekly'), await makeTopic('Offers', { default_subscription: 'opt_out' })]
  const contact = (await post('/contacts', { email: 'pia@b.com', domain: account.domain })).body.id
  const list = async () => {
    const { data } = await get(`/contacts/${contact}/topics`)
    return data.filter(({ id }: { id: string }) => id === weekly || id === offers)
  }
  const topic = { object: 'contact_topic', description: null }
  const of = (id: string, name: string, subscription: string, choice: string | null) => ({
    ...{ ...topic, id, name, subscription, choice },
  })
  t.strictSame(await list(), [of(offers, 'Offers', 'opt_out', null), of(weekly, 'Weekly', 'opt_in', null)])

  await takeOwnEvents()
  const topics = [{ id: offers, subscription: 'opt_in' }]
  const { status, body } = await patch(`/contacts/${contact}/topics`, { topics })
  t.strictSame([status, body], [200, { object: 'contact_topics', id: contact, contact_id: contact, topics }])
  await patch(`/contacts/pia@b.com/topics?domain=${account.domain}`, [{ id: weekly, subscription: 'opt_out' }])
  await patch(`/contacts/${contact}/topics`, [{ id: weekly, subscription: 'opt_out' }]) // unchanged
  t.strictSame(await list(), [of(offers, 'Offers', 'opt_in', 'opt_in'), of(weekly, 'Weekly', 'opt_out', 'opt_out')])
  const event = (choices: object[]) => ({
    type: 'contact.topics.updated',
    data: { id: contact, email: 'pia@b.com', topics: choices },
  })
  t.strictSame(await takeOwnEvents(), [event(topics), event([{ id: weekly, subscription: 'opt_out' }])])
  const noted = { how: 'api', client_address: '127.0.0.1' }
  shows(t, await get(`/contacts/${contact}`), {
    consents: [
      { ...noted, topic_id: weekly, subscription: 'opt_out' },
      { ...noted, topic_id: offers, subscription: 'opt_in' },
    ],
  })

  await patch(`/contacts/${contact}`, { unsubscribed: true })
  t.strictSame(await list(), [of(offers, 'Offers', 'opt_out', 'opt_in'), of(weekly, 'Weekly', 'opt_out', 'opt_out')])
})

t.test('a request with an unknown topic, contact or choice is refused and stores nothing', async t => {
  const topic = await makeTopic('Whole')
  const contact = (await post('/contacts', { email: 'whole@b.com', domain: account.domain })).body.id
  const choice = { id: topic, subscription: 'opt_out' }
  const refused = await patch(`/contacts/${contact}/topics`, [choice, { id: newId(), subscription: 'opt_out' }])
  shows(t, refused, { status: 404, body: { message: 'Topic not found' } })
  const unknown = await patch(`/contacts/${newId()}/topics`, [choice])
  shows(t, unknown, { status: 404, body: { message: 'Contact not found' } })
  const topics = [{ id: topic, subscription: 'never' }]
  for (const body of [topics, { topics }]) {
    const wrong = await patch(`/contacts/${contact}/topics`, body)
    const message = '`topics[0].subscription` must be `opt_in` or `opt_out`.'
    shows(t, wrong, { status: 422, body: { message } })
  }
  const missing = await patch(`/contacts/${contact}/topics`, [choice, { id: topic }])
  shows(t, missing, { status: 422, body: { message: 'Missing `topics[1].subscription` field.' } })
  const { data } = await get(`/contacts/${contact}/topics`)
  shows(
    t,
    data.find(({ id }: { id: string }) => id === topic),
    { subscription: 'opt_in', choice: null },
  )
})

t.test('deleting a topic deletes the choices of contacts about it', async t => {
  const topic = await makeTopic('Short-lived')
  const topics = [{ id: topic, subscription: 'opt_out' }]
  await post('/contacts', { email: 'choosy@b.com', domain: account.domain, topics })
  await remove(`/topics/${topic}`)
  const { rows } = await world.pool.pg.query(
    `SELECT j.payload FROM graphile_worker._private_jobs j
     JOIN graphile_worker._private_tasks k ON k.id = j.task_id WHERE k.identifier = 'remove_leftovers' AND j.payload ->> 'id' = $1`,
    [topic],
  )
  t.strictSame(rows, [{ payload: { account_id: account.id, of: 'topic', id: topic } }])
  await remove_leftovers(rows[0].payload, openWork(t, world, 'capture'))
  const left = await world.pool.pg.query('SELECT FROM contact_topics WHERE topic_id = $1', [topic])
  t.equal(left.rowCount, 0)
})

t.test('POST /topics accepts the name or id of the domain', async t => {
  const topic = { default_subscription: 'opt_in' }
  const { domain, domain_id } = account
  shows(t, (await post('/topics', { ...topic, name: 'By name', domain })).body, { domain_id })
  shows(t, (await post('/topics', { ...topic, name: 'By both', domain: domain_id, domain_id })).body, { domain_id })
  await addDomain(world.pool, world.secrets, {
    account_id: account.id,
    id: newId(),
    name: 'topics.org',
    status: 'verified',
  })
  const both = await post('/topics', { ...topic, name: 'Neither', domain: 'topics.org', domain_id })
  shows(t, both, { status: 422, body: { message: '`domain` and `domain_id` must be the same domain.' } })
  shows(t, await post('/topics', { ...topic, name: 'Foreign', domain: 'nowhere.org' }), { status: 422 })
})
