import { Resend } from 'resend'
import t from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { startApi } from '#test/support/api.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const key = await createApiKey(world.pool, world.secrets, {
  ...{ account_id: account.id, name: 'app', permission: 'full_access', domain_id: null, expires_at: null },
  default_domain_id: account.domain_id,
})
const api = await startApi(t, world, key)
const { importer } = openWork(t, world)
const { broadcasts, contacts, contactProperties, usage } = new Resend(key, { baseUrl: `${api.url}/api` })

t.test('the resend package creates, reads, changes and lists contact properties', async t => {
  const made = await contactProperties.create({ key: 'plan', type: 'string', fallbackValue: 'free' })
  const id = made.data?.id as string
  shows(t, (await contactProperties.get(id)).data as object, { key: 'plan', type: 'string', fallbackValue: 'free' })
  shows(t, await contactProperties.update({ id, fallbackValue: 'none' }), { error: null })
  shows(t, (await contactProperties.list()).data as object, { has_more: false, data: [{ id, fallbackValue: 'none' }] })
})

t.test('the resend package creates, reads, changes and deletes contacts by id and by address', async t => {
  const given = { email: 'ada+news@b.com', firstName: 'Ada', unsubscribed: false, properties: { plan: 'pro' } }
  const id = (await contacts.create(given)).data?.id as string
  const record = { object: 'contact', id, email: given.email, first_name: 'Ada', unsubscribed: false }
  for (const named of [id, { id }, { email: given.email }]) {
    shows(t, (await contacts.get(named)).data as object, { ...record, properties: { plan: 'pro' } })
  }
  shows(t, await contacts.update({ email: given.email, unsubscribed: true }), { data: { object: 'contact', id } })
  shows(t, await contacts.update({ id, lastName: 'L' }), { data: { object: 'contact', id } })
  shows(t, (await contacts.list()).data as object, { data: [{ id, last_name: 'L', unsubscribed: true }] })
  shows(t, (await usage.get()).data as object, { contacts: { used: 1 } })
  shows(t, (await contacts.remove({ email: given.email })).data as object, {
    object: 'contact',
    contact: id,
    deleted: true,
  })
  shows(t, await contacts.get(id), { error: { name: 'not_found', message: 'Contact not found' } })
})

t.test('the resend package adds, changes and removes contacts of an audience', async t => {
  const { body } = await api.request('POST', '/api/audiences', { body: { name: 'News' } })
  const audienceId = body.id
  const id = (await contacts.create({ audienceId, email: 'bob@b.com' })).data?.id as string
  shows(t, (await contacts.get({ audienceId, email: 'bob@b.com' })).data as object, { id, first_name: null })
  shows(t, await contacts.update({ audienceId, id, firstName: 'Bob' }), { data: { object: 'contact', id } })
  shows(t, (await contacts.remove({ audienceId, id })).data as object, { id, contact: id, deleted: true })
  shows(t, (await contacts.get(id)).data as object, { first_name: 'Bob' })
})

t.test('the resend package accepts a segment id as an audience id', async t => {
  const { body: segment } = await api.request('POST', '/api/segments', {
    body: { name: 'Beta', domain: account.domain, filter: { status: 'members_only' } },
  })
  const audienceId = segment.id
  const id = (await contacts.create({ audienceId, email: 'cy@b.com' })).data?.id as string
  shows(t, (await contacts.segments.list({ contactId: id })).data as object, { data: [{ id: audienceId }, {}] })
  shows(t, (await contacts.get({ audienceId, email: 'cy@b.com' })).data as object, { id })
  shows(t, await contacts.get({ audienceId, email: 'bob@b.com' }), { error: { message: 'Contact not found' } })
  shows(t, await contacts.update({ audienceId, email: 'bob@b.com', firstName: 'B' }), { error: { statusCode: 404 } })
  shows(t, await contacts.update({ audienceId, id, firstName: 'Cy' }), { data: { object: 'contact', id } })
  shows(t, (await api.request('GET', `/api/audiences/${audienceId}/contacts`)).body, {
    data: [{ id, first_name: 'Cy' }],
  })
  const bulk = `/api/audiences/${audienceId}/contacts`
  const batch = await api.request('POST', `${bulk}/batch`, { body: { contacts: [{ email: 'dan@b.com' }] } })
  shows(t, batch, { status: 200, body: { created: 1 } })
  const { body: queued } = await api.request('POST', `${bulk}/import`, { body: { csv: 'email\neve@b.com' } })
  await importer.offer([queued.id])
  await importer.idle()
  shows(t, (await contacts.list({ audienceId })).data as object, {
    data: [{ email: 'eve@b.com' }, { email: 'dan@b.com' }, { id }],
  })
  const both = `/api/audiences/${audienceId}/contacts?segment_id=${audienceId}`
  shows(t, await api.request('GET', both), { status: 422 })

  const named = { contactId: id, segmentId: audienceId }
  const left = { id: audienceId, audienceId, deleted: true }
  shows(t, (await contacts.segments.remove(named)).data as object, left)
  shows(t, await contacts.segments.add(named), { error: null })

  const content = { from: `Acme <a@${account.domain}>`, subject: 'Hi', html: '<p>Hi</p>' }
  const made = await broadcasts.create({ ...content, audienceId })
  const broadcast = made.data?.id as string
  shows(t, (await broadcasts.get(broadcast)).data as object, { audience_id: null, segment_id: audienceId })
  const general = account.domain_id
  await broadcasts.update(broadcast, { segmentId: general })
  await broadcasts.update(broadcast, { audienceId })
  shows(t, (await broadcasts.get(broadcast)).data as object, { audience_id: null, segment_id: audienceId })
  shows(t, await broadcasts.create({ ...content, audienceId: broadcast }), { error: { message: 'Audience not found' } })

  const removed = { id, contact: id, deleted: true }
  shows(t, (await contacts.remove({ audienceId, id })).data as object, removed)
  shows(t, await contacts.get({ audienceId, id }), { error: { statusCode: 404 } })
  shows(t, (await contacts.get(id)).data as object, { first_name: 'Cy' })
})
