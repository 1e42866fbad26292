import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { shows } from '#test/support/shows.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
await addContacts(world, account, ['ada@b.com'])
const other_domain = newId()
await addDomain(world.pool, world.secrets, {
  ...{ account_id: account.id, id: other_domain, name: `other.${account.domain}`, status: 'verified' },
})

const from = `News <news@${account.domain}>`
const post = (path: string, body: object = {}) => api.request('POST', `/api${path}`, { body })
const create = (fields: object) => post('/campaigns', { from, subject: 'March', ...fields })
const get = async (id: string) => (await api.request('GET', `/api/campaigns/${id}`)).body
const patch = (id: string, body: object) => api.request('PATCH', `/api/campaigns/${id}`, { body })
const makeId = async (path: string, body: object) => (await post(path, body)).body.id

const NOTHING = {
  ...{ audience_id: null, segment_id: null, topic_id: null, preview_text: null, text: null, template_id: null },
  ...{ ab_test: null, recurrence: null, recurrence_every: null, track_opens: null, track_clicks: null },
  ...{ timezone: 'UTC', send_in_local_time: false, skip_if_mailed_within_hours: null, exclude_unengaged_days: null },
  ...{ scheduled_at: null, started_at: null, sent_at: null, paused_at: null, pause_reason: null, error: null },
}

t.test('POST /campaigns stores a draft', async t => {
  const { status, body } = await create({ html: '<p>Hi</p>', replyTo: 'r@b.co', previewText: 'Soon' })
  t.equal(status, 201)
  const record = {
    ...{ ...NOTHING, object: 'campaign', name: '', status: 'draft', domain_id: account.domain_id, from },
    ...{ reply_to: ['r@b.co'], subject: 'March', preview_text: 'Soon', html: '<p>Hi</p>', recipients_count: 0 },
  }
  shows(t, body, record)
  t.strictSame(await get(body.id), body)
})

t.test('POST /campaigns names the missing or invalid field', async t => {
  const messageOf = async (body: object) => {
    const { status, body: answer } = await post('/campaigns', body)
    return [status, answer.name, answer.message]
  }
  t.strictSame(await messageOf({ subject: 'x' }), [422, 'missing_required_field', 'Missing `from` field.'])
  t.strictSame(await messageOf({ from }), [422, 'missing_required_field', 'Missing `subject` field.'])
  const at = { from, subject: 'x' }
  for (const [fields, name, message] of [
    [{ from: 'x' }, 'invalid_from_address', '`from` must be `email@domain` or `Name <email@domain>`, not "x".'],
    [
      { from: '\u05d0!\u200f <a@b.com>' },
      'invalid_from_address',
      '`from` must not have a character that changes the direction of text.',
    ],
    [{ from: 'a@b.com' }, 'validation_error', '`from` must be at one of your domains: b.com is not one of them.'],
    [{ recurrence_every: 2 }, 'validation_error', '`recurrence_every` must come with `recurrence`.'],
    [{ timezone: 'FOO5' }, 'validation_error', '`timezone` must be an IANA time zone such as Europe/Berlin.'],
    [{ scheduled_at: 'in 2 hours' }, 'validation_error', '`scheduled_at` must come with `send`: true.'],
    [{ audience_id: 'x' }, 'validation_error', '`audience_id` must be an id: a UUID.'],
    [{ preview_text: 'a\nb' }, 'validation_error', '`preview_text` must be one line.'],
  ] as const) {
    t.strictSame(await messageOf({ ...at, ...fields }), [422, name, message])
  }
})

t.test('audience, segment, topic and template must exist on the domain of `from`', async t => {
  for (const [field, resource] of [
    ['audience_id', 'Audience'],
    ['segment_id', 'Segment'],
    ['topic_id', 'Topic'],
    ['template_id', 'Template'],
  ]) {
    const { status, body } = await create({ [field as string]: newId() })
    t.strictSame([status, body.name, body.message], [404, 'not_found', `${resource} not found`])
  }
  const topic_id = await makeTopic(world, account, { name: 'Other', domain_id: other_domain })
  for (const fields of [{ audience_id: other_domain }, { segment_id: other_domain }, { topic_id }]) {
    const { status, body } = await create(fields)
    t.strictSame([status, body.message], [422, `\`${Object.keys(fields)[0]}\` must belong to the domain of \`from\`.`])
  }
})

t.test('PATCH /campaigns/:id changes the given fields of a draft', async t => {
  const id = await createDraft(api, account, { name: 'A', preview_text: 'Soon' })
  const { status, body } = await patch(id, { subject: 'April', preview_text: null, audience_id: null })
  t.strictSame([status, body], [200, { object: 'campaign', id }])
  shows(t, await get(id), { name: 'A', subject: 'April', preview_text: null, audience_id: null })
  const moved = `News <news@other.${account.domain}>`
  shows(t, await patch(id, { from: moved }), { status: 200 })
  shows(t, await get(id), { from: moved, domain_id: other_domain })
  const { body: refused } = await patch(id, { audience_id: account.domain_id })
  t.equal(refused.message, '`audience_id` must belong to the domain of `from`.')
})

t.test('a campaign has content of its own or a template', async t => {
  const template_id = await makeId('/templates', { name: 'T', html: '<p>T</p>', alias: 'spring' })
  const { body } = await create({ template_id: 'spring', subject: undefined })
  shows(t, body, { template_id, subject: null, html: null })
  const both = await patch(body.id, { html: 'x' })
  t.strictSame([both.status, both.body.message], [422, '`html` cannot be combined with `template_id`.'])
  shows(t, await patch(body.id, { html: 'x', template_id: null }), { status: 200 })
})

t.test('a queued campaign can be neither changed nor deleted', async t => {
  const id = await createDraft(api, account)
  await post(`/campaigns/${id}/send`)
  for (const [answer, participle] of [
    [await patch(id, { subject: 'x' }), 'changed'],
    [await post(`/campaigns/${id}/send`), 'sent'],
  ] as const) {
    t.strictSame(
      [answer.status, answer.body.message],
      [422, `Only a draft can be ${participle}; this campaign is queued.`],
    )
  }
  const { status, body } = await api.request('DELETE', `/api/campaigns/${id}`)
  t.strictSame([status, body.name], [422, 'validation_error'])
})

t.test('DELETE /campaigns/:id deletes drafts and scheduled campaigns', async t => {
  for (const scheduled_at of [undefined, 'in 2 hours']) {
    const id = await createDraft(api, account)
    if (scheduled_at) shows(t, await post(`/campaigns/${id}/send`, { scheduled_at }), { status: 200 })
    const { status, body } = await api.request('DELETE', `/api/campaigns/${id}`)
    t.strictSame([status, body], [200, { object: 'campaign', id, deleted: true }])
    t.equal((await api.request('GET', `/api/campaigns/${id}`)).status, 404)
  }
})

t.test('POST /campaigns/:id/duplicate makes a draft, even of a queued campaign', async t => {
  const id = await createDraft(api, account, { name: 'Spring', text: 'x' })
  await post(`/campaigns/${id}/send`)
  const { status, body } = await post(`/campaigns/${id}/duplicate`)
  t.equal(status, 201)
  shows(t, body, { ...NOTHING, name: 'Copy of Spring', status: 'draft', text: 'x', audience_id: account.domain_id })
  shows(t, (await post(`/campaigns/${id}/duplicate`, { name: 'Again' })).body, { name: 'Again' })
})

t.test('GET /campaigns lists campaigns without their content', async t => {
  const mine = await newAccount(world)
  const list = async (query = '') =>
    (await api.request('GET', `/api/campaigns${query}`, { key: mine.key })).body.data.map(({ id }) => id)
  const [first, second] = [
    await createDraft(api, mine, { name: 'Spring sale' }),
    await createDraft(api, mine, { subject: 'Summer' }),
  ]
  const { body } = await api.request('GET', '/api/campaigns', { key: mine.key })
  shows(t, body, { object: 'list', has_more: false, data: [{ id: second }, { id: first }] })
  t.notOk('html' in (body.data[0] as object) || 'text' in (body.data[0] as object))
  t.strictSame(await list('?q=SPRING'), [first])
  t.strictSame(await list('?q=summer'), [second])
  t.strictSame(await list('?status=queued'), [])
  t.strictSame(await list(`?status=draft&domain=${mine.domain}&limit=1`), [second])
  t.strictSame(await list(`?before=${first}`), [second])
  t.equal((await api.request('GET', '/api/campaigns?status=x')).status, 422)
})
