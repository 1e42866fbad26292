import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { storeAutomation } from '#test/support/automation_runs.ts'
import { runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { domain } = account

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  api.request('POST', `/api${path}`, { body, headers })
const send = (body: object, headers?: Record<string, string>) => post('/events/send', { domain, ...body }, headers)
const eventsOf = async (name: string) => (await api.request('GET', `/api/events/${name}/recent`)).body.data

t.test('POST /events/send starts the automations that an event triggers', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'started' })
  const [ann] = await addContacts(world, account, ['ann@b.com'])
  const { status, body } = await send({ event: 'started', contact_id: ann, payload: { plan: 'pro' } })
  t.equal(status, 202)
  t.strictSame(body, {
    ...{ object: 'event', id: body.id, event: 'started', name: 'started', contact_id: ann, enrolled: 1 },
  })
  const run = { contact_email: 'ann@b.com', status: 'running', payload: { plan: 'pro' }, depth: 0, is_due: true }
  shows(t, await runsOf(world, automation), [{ ...run, since_event: body.id }])
  shows(t, await eventsOf('started'), [
    { object: 'contact_event', id: body.id, contact_id: ann, payload: { plan: 'pro' }, enrolled: 1 },
  ])
})

t.test('POST /events and /events/send accept every spelling of the fields', async t => {
  const [bob] = await addContacts(world, account, ['bob@b.com'])
  const stored = { status: 202, body: { object: 'event', event: 'spelled', contact_id: bob, enrolled: 0 } }
  for (const name of ['event', 'name', 'event_name', 'eventName']) {
    for (const who of [{ contact_id: bob }, { contactId: bob }, { email: 'Bob@B.com' }]) {
      for (const path of ['/events', '/events/send']) {
        shows(t, await post(path, { [name]: 'spelled', domain, ...who }), stored)
      }
    }
  }
  for (const key of ['payload', 'data', 'properties'])
    await send({ event: `by ${key}`, contact_id: bob, [key]: { n: 1 } })
  for (const key of ['payload', 'data', 'properties']) {
    shows(t, await eventsOf(`by%20${key}`), [{ name: `by ${key}`, payload: { n: 1 } }])
  }
  t.equal((await eventsOf('spelled')).length, 24)
  shows(t, await send({ event: 'spelled', domain: account.domain_id, contact_id: bob }), stored)
})

t.test('an event for an unknown address creates the contact', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'first' })
  const answers = await Promise.all(['New@b.com', 'new@b.com'].map(email => send({ event: 'first', email })))
  const { body: contact } = await api.request('GET', `/api/contacts/new@b.com?domain=${domain}`)
  const stored = { status: 202, body: { contact_id: contact.id, enrolled: 1 } }
  shows(t, answers, [stored, stored])
  shows(t, await runsOf(world, automation), [{ contact_email: 'new@b.com' }, { contact_email: 'new@b.com' }])
  shows(t, await eventsOf('first'), [{ contact_id: contact.id }, { contact_id: contact.id }])
})

t.test('an event with an invalid field is refused', async t => {
  const [cid] = await addContacts(world, account, ['cid@b.com'])
  const who = { contact_id: cid }
  const refused = async (body: object, message: string, name = 'validation_error') =>
    shows(t, await post('/events/send', body), { status: 422, body: { name, message } }, message)
  await refused({ domain, ...who }, 'Missing `event` field.', 'missing_required_field')
  await refused({ event: 'x', ...who }, 'Missing `domain`: the name or the id of one of your domains.')
  await refused({ event: 'x', domain: 'b.com', ...who }, '`domain` must be the name or the id of one of your domains.')
  await refused({ event: 'x', domain }, 'Missing `contact_id` or `email` field.', 'missing_required_field')
  await refused({ event: 'x', domain, ...who, email: 'a@b.com' }, '`email` cannot be combined with `contact_id`.')
  await refused({ event: 'x', domain, email: 'nobody' }, '`email` must be an address such as ann@acme.com.')
  await refused({ event: 'x', domain, contact_id: 'x' }, '`contact_id` must be an id: a UUID.')
  await refused({ event: 'x', name: 'y', domain, ...who }, '`name` must be the same as `event`.')
  await refused({ event: 'service:x', domain, ...who }, '`event` must not begin with `service:`, which is reserved.')
  await refused({ event: 'x', domain, ...who, payload: 'text' }, '`payload` must be an object.')
  await refused({ event: 'x', domain, ...who, payload: {}, data: {} }, '`data` cannot be combined with `payload`.')
  const payload = { text: 'x'.repeat(64 * 1024) }
  await refused({ event: 'x', domain, ...who, payload }, '`payload` must be at most 64 KB of JSON.')
  const unknown = { status: 404, body: { name: 'not_found', message: 'Contact not found' } }
  shows(t, await send({ event: 'x', contact_id: newId() }), unknown)
  shows(t, await api.request('GET', '/api/events/x/recent'), { status: 404 })
})

t.test('an event with an idempotency key is stored once', async t => {
  const automation = await storeAutomation(world, account, [], { trigger: 'keyed' })
  const [dan] = await addContacts(world, account, ['dan@b.com'])
  const key = { 'idempotency-key': 'one' }
  const body = { event: 'keyed', contact_id: dan, payload: { n: 1 } }
  const first = await send(body, key)
  const again = await send(body, key)
  t.strictSame([again.status, again.body], [202, first.body])
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  shows(t, await send({ ...body, payload: { n: 2 } }, key), {
    status: 409,
    body: { name: 'invalid_idempotent_request' },
  })
  t.equal(
    (await post('/events', { domain, ...body }, key)).headers.get('idempotent-replayed'),
    null,
    'of another route',
  )
  await api.request('DELETE', `/api/contacts/${dan}`)
  t.strictSame((await send(body, key)).body, first.body, 'even if its contact was deleted')
  shows(t, await send(body, { 'idempotency-key': 'two' }), { status: 404 })
  t.equal((await runsOf(world, automation)).length, 2)
  shows(t, await send(body, { 'idempotency-key': '' }), { status: 400, body: { name: 'invalid_idempotency_key' } })
})

t.test('an idempotency key of an event belongs to its account, and can be used anew after a day', async t => {
  const key = { 'idempotency-key': 'daily' }
  const sendAs = async ({ key: api_key, domain }: TestAccount) => {
    const body = { event: 'daily', email: 'eve@b.com', domain }
    const { status, body: sent } = await api.request('POST', '/api/events/send', { key: api_key, body, headers: key })
    t.equal(status, 202)
    return sent.id
  }
  const other = await newAccount(world)
  const first = await sendAs(account)
  t.not(await sendAs(other), first)
  await world.pool.pg.query(
    `UPDATE idempotency_keys SET created_at = now() - key_lifetime() WHERE account_id = $1 AND key = 'daily'`,
    [account.id],
  )
  const second = await sendAs(account)
  t.not(second, first)
  t.equal(await sendAs(account), second)
  t.equal((await eventsOf('daily')).length, 2)
})

t.test('a refused event leaves its idempotency key free', async t => {
  const key = { 'idempotency-key': 'later' }
  const body = { event: 'later', email: 'later@b.com', payload: { n: 'x' } }
  const { body: definition } = await post('/events', { name: 'later', schema: { n: 'number' } })
  shows(t, await send(body, key), { status: 422, body: { message: '`payload["n"]` must be a number.' } })
  await api.request('PATCH', `/api/events/${definition.id}`, { body: { schema: null } })
  shows(t, await send(body, key), { status: 202 })
  await api.request('PATCH', `/api/events/${definition.id}`, { body: { schema: { n: 'number' } } })
  t.equal((await send(body, key)).headers.get('idempotent-replayed'), 'true', 'although it would be refused now')
  t.equal((await eventsOf('later')).length, 1)
})

t.test('concurrent requests with one key store one event', async t => {
  const key = { 'idempotency-key': 'at once' }
  const second = await startApi(t, world, account.key)
  const body = { event: 'at once', email: 'at-once@b.com', domain }
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      (n % 2 ? api : second).request('POST', '/api/events/send', { body, headers: key }),
    ),
  )
  for (const { status } of answers) t.ok(status === 202 || status === 409 || status === 503, `${status}`)
  t.equal((await eventsOf('at%20once')).length, 1)
})
