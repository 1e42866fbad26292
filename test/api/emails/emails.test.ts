import t from 'tap'
import { v7 as uuid } from 'uuid'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }

const send = (fields: Record<string, unknown>) => api.request('POST', '/api/emails', { body: { ...email, ...fields } })
const read = async (id: string) => (await api.request('GET', `/api/emails/${id}`)).body
const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

t.test('POST /emails returns the id of a stored and queued email', async t => {
  const { status, body } = await send({ from: `Ann <ann@${account.domain}>`, to: 'bob@b.com', text: 'Hello' })

  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['id'])
  shows(t, await read(body.id), {
    object: 'email',
    from: `Ann <ann@${account.domain}>`,
    to: ['bob@b.com'],
    status: 'queued',
    queue: [{ recipient: 'bob@b.com', state: 'queued', attempts: 0, last_reply: null }],
  })
})

t.test('GET /emails/:id returns every field as it was sent', async t => {
  const fields = {
    from: `"Dr. Ann, PhD" <ann@${account.domain}>`,
    to: ['Bob <bob@b.com>', 'carl@c.com'],
    cc: ['Zoë <zoe@z.com>'],
    bcc: ['dora@d.com'],
    reply_to: ['Help <help@a.com>', 'desk@a.com'],
    subject: 'Ünïcode 🎉 <b>&amp;\u2028',
    html: '<p>\r\nHello\u0007 🎉</p>',
    text: 'Hello\n.\n',
    headers: { 'X-One': 'a', 'List-Unsubscribe': '<https://a.com/?a=1&b=2>' },
    tags: [
      { name: 'kind', value: 'receipt' },
      { name: 'kind', value: 'a_-9' },
    ],
  }
  const { body } = await send(fields)
  const found = await read(body.id)
  t.match(found, fields)
  t.strictSame(Object.keys(found).sort(), [
    ...['attachments', 'automation_id', 'bcc', 'campaign_id', 'cc', 'contact_id', 'created_at', 'domain_id', 'events'],
    ...['from', 'headers', 'html', 'id', 'last_event', 'message_id', 'object', 'queue', 'reply_to', 'scheduled_at'],
    ...['sent_at', 'status', 'subject', 'tags', 'template_id', 'text', 'to', 'topic_id', 'updated_at'],
  ])
  t.match(found, { id: body.id, message_id: `<${body.id}@${account.domain}>`, domain_id: account.domain_id })
  shows(t, found, { created_at: isoDate, updated_at: isoDate, sent_at: null, scheduled_at: null, last_event: 'queued' })
})

t.test('fields that are omitted, null or empty are empty', async t => {
  const nulls = { html: null, text: null, cc: null, bcc: null, reply_to: null, headers: null, tags: null }
  const empty = { html: null, text: null, cc: [], bcc: [], reply_to: [], headers: {}, tags: [], attachments: [] }
  for (const fields of [{}, { ...nulls, attachments: null }, empty]) {
    const found = await read((await send(fields)).body.id)
    t.strictSame({ ...found, ...empty }, found)
  }
})

t.test('a string is accepted in place of a list of one', async t => {
  const { body } = await send({ to: 'bob@b.com', cc: 'c@c.com', bcc: 'd@d.com', reply_to: 'e@e.com' })
  shows(t, await read(body.id), { to: ['bob@b.com'], cc: ['c@c.com'], bcc: ['d@d.com'], reply_to: ['e@e.com'] })
})

t.test('an email that is scheduled too far ahead is refused', async t => {
  const { body } = await send({ scheduled_at: '2099-01-01T00:00:00Z' })
  const message = '`scheduled_at` must be within the next 30 days.'
  t.strictSame(body, { statusCode: 422, name: 'validation_error', message })
  t.match(await send({ scheduled_at: null, poll: null }), { status: 200 })
})

t.test('an unknown topic is refused with 404', async t => {
  t.match(await send({ topic_id: uuid() }), { status: 404, body: { name: 'not_found', message: 'Topic not found' } })
  t.match(await send({ topic_id: 'news' }), { status: 422, body: { name: 'validation_error' } })
  t.match(await send({ topic_id: null }), { status: 200 })
})

t.test('unknown fields are ignored', async t => {
  t.match(await send({ track_opens: false, track_clicks: null }), { status: 200 })
  t.match(await send({ id: 'x', react: {}, constructor: 1, toString: 'x', From: 'x', 'to ': 'x' }), { status: 200 })
  const raw = `{"__proto__":{"from":"x"},${JSON.stringify(email).slice(1)}`
  t.match(await api.request('POST', '/api/emails', { raw }), { status: 200 })
})

t.test('the last of duplicate JSON keys counts', async t => {
  const raw = `{"subject":"one",${JSON.stringify(email).slice(1, -1)},"subject":"three"}`
  const { body } = await api.request('POST', '/api/emails', { raw })
  t.match(await read(body.id), { subject: 'three' })
})

t.test('an email of 9 MB is stored completely', async t => {
  const html = 'é'.repeat(4_500_000)
  const { body } = await send({ html })
  const found: object = await read(body.id)
  t.ok('html' in found && found.html === html)
})
