import t from 'tap'
import { v7 as uuid } from 'uuid'
import { startApi } from '#test/support/api.ts'
import { choosePlan } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const from = `Acme <hi@${account.domain}>`
const to = ['bob@b.com']

const send = (fields: object, headers: Record<string, string> = {}) =>
  api.request('POST', '/api/emails', { body: { to, ...fields }, headers })
const read = async (id: string) => (await api.request('GET', `/api/emails/${id}`)).body
const sent = async (fields: object) => {
  const { status, text, body } = await send(fields)
  if (status !== 200) throw new Error(text)
  return read(body.id)
}
const refused = (name: string, message: RegExp, status = 422) => ({
  status,
  body: { statusCode: status, name, message },
})

let templates = 0

/** Creates a template and publishes it by default; returns its id and alias. */
async function make(fields: object = {}, options = { publish: true }): Promise<{ id: string; alias: string }> {
  const alias = `t${++templates}`
  const body = { name: alias, alias, from, subject: 'Hi {{name}}', html: '<p>{{name}}', text: '{{name}}', ...fields }
  const { id } = (await api.request('POST', '/api/templates', { body })).body
  if (options.publish) await api.request('POST', `/api/templates/${id}/publish`)
  return { id, alias }
}

t.test('a template gives the email its fields, by id or alias', async t => {
  const { id, alias } = await make({ reply_to: 'Help <help@a.com>, desk@a.com' })
  const variables = { name: 'Ann & Bob' }
  for (const named of [
    { template_id: id, variables },
    { template_id: id.toUpperCase(), variables },
    { template_id: alias, variables },
    { template: { id }, variables },
    { template: { id: alias, variables } },
    { template: { alias, variables: { name: 'Carl', more: 1 } }, variables },
  ]) {
    shows(
      t,
      await sent(named),
      {
        ...{ from, to, subject: 'Hi Ann & Bob', html: '<p>Ann &amp; Bob', text: 'Ann & Bob', template_id: id },
        reply_to: ['Help <help@a.com>', 'desk@a.com'],
        status: 'queued',
      },
      JSON.stringify(named),
    )
  }
  const { data } = (await api.request('GET', '/api/emails?limit=1')).body
  t.match(data[0], { template_id: id })
  t.match(await sent({ from, subject: 'Hi' }), { template_id: null })
})

t.test('fields of the email override the template, and are rendered too', async t => {
  const { id } = await make({ reply_to: 'help@a.com' })
  const own = { from: `Bob <bob@${account.domain}>`, subject: 'For {{name}}', reply_to: 'bob@a.com' }
  const email = await sent({ template_id: id, variables: { name: 'Ann' }, ...own, html: null, text: null })
  shows(t, email, { ...own, subject: 'For Ann', reply_to: ['bob@a.com'], html: '<p>Ann' })
})

t.test('a template without text sends a text part derived from its html', async t => {
  const { id } = await make({ text: null })
  t.match(await sent({ template_id: id, variables: { name: 'Ann' } }), { html: '<p>Ann', text: 'Ann' })
})

t.test('the published version is sent, not the newest', async t => {
  const { id, alias } = await make()
  await api.request('PATCH', `/api/templates/${id}`, { body: { subject: 'New', html: 'New', text: 'New' } })
  const named = { template_id: alias, variables: { name: 'Ann' } }
  t.match(await sent(named), { subject: 'Hi Ann', html: '<p>Ann', text: 'Ann' })
  await api.request('POST', `/api/templates/${id}/publish`)
  const email = await sent(named)
  t.match(email, { subject: 'New', html: 'New', text: 'New' })

  await api.request('PATCH', `/api/templates/${id}`, { body: { subject: 'Newer' } })
  await api.request('POST', `/api/templates/${id}/publish`)
  await api.request('DELETE', `/api/templates/${id}`)
  t.strictSame(
    { ...(await read(email.id)), queue: null },
    { ...email, queue: null },
    'what is accepted stays as it was',
  )
})

t.test('a scheduled email is rendered when it is accepted', async t => {
  const { id } = await make()
  const { body } = await send({ template_id: id, variables: { name: 'Ann' }, scheduled_at: 'in 2 hours' })
  await api.request('DELETE', `/api/templates/${id}`)
  shows(t, await read(body.id), { status: 'scheduled', subject: 'Hi Ann', template_id: id })
})

t.test("a variable is the given value, its fallback, or the placeholder's fallback", async t => {
  const { id } = await make({
    subject: '{{a|inline}} {{b|inline}} {{c|inline}} {{d}}',
    variables: [
      { key: 'a', fallback_value: 'declared' },
      { key: 'b', fallback_value: 'declared' },
      { key: 'c' },
      { key: 'd' },
    ],
    html: '',
    text: '{{n}}',
  })
  t.match(await send({ template_id: id, variables: { n: 1 } }), refused('validation_error', /variable `d`/))
  const email = await sent({ template_id: id, variables: { a: 'given', d: '', n: 1e-7 } })
  t.match(email, { subject: 'given declared inline ', html: '', text: '1e-7' })
})

t.test('a number variable accepts only numbers; a string variable also accepts numbers', async t => {
  const { id } = await make({
    subject: '{{n}}',
    html: '{{s}}',
    variables: [{ key: 'n', type: 'number' }, { key: 's' }],
    text: '',
  })
  t.match(await sent({ template_id: id, variables: { n: 5, s: 6 } }), { subject: '5', html: '6' })
  t.match(
    await send({ template_id: id, variables: { n: '5', s: '6' } }),
    refused('validation_error', /^`variables\.n` must be a number\.$/),
  )
  const alone = await make({
    subject: '{{n}}',
    html: '',
    text: '',
    variables: [{ key: 'n', type: 'number', fallback_value: 0 }],
  })
  t.match(await sent({ template_id: alone.id }), { subject: '0' })
})

t.test('a template without a required field or value is refused', async t => {
  const { id } = await make()
  const draft = await make({}, { publish: false })
  const bare = await make({ from: null, subject: null })
  const subject = await make({ subject: '{{a}}{{a}}', html: '', text: '' })
  const variables = { name: 'Ann' }
  const not_found = refused('not_found', /^Template not found$/, 404)
  t.match(await send({ template_id: uuid(), variables }), not_found)
  t.match(await send({ template: { alias: 'unknown' }, variables }), not_found)
  t.match(await send({ template_id: draft.id, variables }), refused('validation_error', /not published/))
  t.match(await send({ template_id: id }), refused('validation_error', /^Missing value for the variable `name`\.$/))
  t.match(await send({ template_id: bare.id, variables }), refused('missing_required_field', /`from`/))
  t.match(await send({ template_id: bare.id, variables, from }), refused('missing_required_field', /`subject`/))
  t.match(await send({ template_id: bare.id, variables, from, subject: 'Hi' }), { status: 200 })
  const long = { a: 'x'.repeat(500) }
  t.match(
    await send({ template_id: subject.id, variables: long }),
    refused('validation_error', /must have at most 998 characters/),
  )
  t.match(await send({ template_id: 'No Name' }), refused('validation_error', /`template_id`/))
  const foreign = await make({ from: 'hi@not-mine.com' })
  t.match(await send({ template_id: foreign.id, variables }), refused('validation_error', /domain is not verified/))
})

t.test('link placeholders of recipients need no variable, and may have one', async t => {
  const html = '{{unsubscribe_url}}'
  const text = '{{{RESEND_UNSUBSCRIBE_URL|-}}}'
  const { id } = await make({ subject: 'Hi', html, text })
  shows(t, await sent({ template_id: id }), { html, text })
  shows(t, await sent({ template_id: id, variables: { unsubscribe_url: 'a' } }), { html: 'a', text })
})

t.test('`poll` is an ordinary variable in an email without a poll', async t => {
  const { id } = await make({ subject: 'Hi', html: '{{poll}}', text: null })
  t.match(await send({ template_id: id }), refused('validation_error', /`poll`/))
  shows(t, await sent({ template_id: id, variables: { poll: 'a' } }), { html: 'a' })
})

t.test('an email without a template is rendered only if it has variables', async t => {
  const parts = { subject: '{{a}}', html: '<p>{{a}}{{{a}}}{{b|-}}', text: '{{a}}' }
  t.match(await sent({ from, ...parts }), parts)
  t.match(await sent({ from, ...parts, variables: null }), parts)
  t.match(await sent({ from, ...parts, variables: { a: '<b>\r\nBcc: x@y.com' } }), {
    subject: '<b> Bcc: x@y.com',
    html: '<p>&lt;b&gt;\r\nBcc: x@y.com<b>\r\nBcc: x@y.com-',
    text: '<b>\r\nBcc: x@y.com',
    template_id: null,
  })
  t.match(await sent({ from, subject: 'x', variables: { a: 1 } }), { subject: 'x', html: null, text: null })
  t.match(await send({ from, ...parts, variables: {} }), refused('validation_error', /variable `a`/))
})

t.test('a retry replays after its template is deleted; a failed key is free', async t => {
  const { id, alias } = await make()
  const email = { template_id: alias, variables: { name: 'Ann' } }
  const headers = { 'idempotency-key': 'one' }
  const first = await send(email, headers)
  await api.request('DELETE', `/api/templates/${id}`)
  const again = await send(email, headers)
  t.match(again, { status: 200, text: first.text })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.match(await send({ ...email, variables: {} }, headers), refused('invalid_idempotent_request', /\w/, 409))
  t.match(await send(email, { 'idempotency-key': 'two' }), refused('not_found', /Template/, 404))
  t.match(await send({ from, subject: 'Hi' }, { 'idempotency-key': 'two' }), { status: 200 })
})

t.test('a send with an unknown template is not debited', async t => {
  const free = await newAccount(world)
  await choosePlan(world, free, 'free')
  const body = { to, template_id: 'unknown' }
  for (let n = 0; n < 3; n++) await api.request('POST', '/api/emails', { key: free.key, body })
  const { rows } = await world.pool.pg.query('SELECT FROM usage_minutes WHERE account_id = $1', [free.id])
  t.equal(rows.length, 0)
  t.equal((await api.request('GET', '/api/emails', { key: free.key })).body.data.length, 0)
})

t.test('a sending key sends with templates', async t => {
  const { id } = await make()
  const body = { to, template_id: id, variables: { name: 'Ann' } }
  t.match(await api.request('POST', '/api/emails', { key: account.sending_key, body }), { status: 200 })
})

const sendBatch = (body: object[], headers: Record<string, string> = {}) =>
  api.request('POST', '/api/emails/batch', { body, headers })

t.test('POST /emails/batch sends templates', async t => {
  const worker = await startWorker(world)
  t.teardown(() => worker.stop())

  t.test('each email of a batch may have a template', async t => {
    const { id, alias } = await make()
    const batch = [
      { to, template_id: id, variables: { name: 'Ann' } },
      { from, to, subject: '{{a}}' },
      { to, template: { alias, variables: { name: 'Bob' } } },
    ]
    const { status, body } = await sendBatch(batch)
    t.equal(status, 200)
    const emails = await Promise.all(body.data.map(email => read(email.id)))
    shows(t, emails, [
      { subject: 'Hi Ann', template_id: id },
      { subject: '{{a}}', template_id: null },
      { subject: 'Hi Bob', template_id: id },
    ])
  })

  t.test('an unknown template refuses a batch, or only its email if permissive', async t => {
    const { id } = await make()
    const batch = [
      { to, template_id: id, variables: { name: 'Ann' } },
      { to, template_id: 'unknown' },
      { to, template_id: id },
    ]
    t.match(await sendBatch(batch), refused('not_found', /^emails\[1\]: Template not found$/, 404))
    const headers = { 'x-batch-validation': 'permissive', 'idempotency-key': 'batch' }
    const first = await sendBatch(batch, headers)
    shows(t, first, {
      status: 200,
      body: {
        data: [{ id: /-7/ }],
        errors: [
          { index: 1, message: 'emails[1]: Template not found' },
          { index: 2, message: /variable `name`/ },
        ],
      },
    })
    await api.request('DELETE', `/api/templates/${id}`)
    t.match(await sendBatch(batch, headers), { status: 200, text: first.text })
  })
})
