import t from 'tap'
import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import { addCredits } from '#sql/accounts/plans.ts'
import { startApi } from '#test/support/api.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { choosePlan, givePlan } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const post = (path: string, body: object = {}) => api.request('POST', `/api${path}`, { body })
const patch = (id: string, body: object) => api.request('PATCH', `/api/campaigns/${id}`, { body })
const send = (id: string, body: object = {}) => post(`/campaigns/${id}/send`, body)

const reachable = Array.from({ length: 10 }, (_, n) => `p${n}@b.com`)
await addContacts(world, account, reachable)
await addContacts(world, account, [{ email: 'gone@b.com', unsubscribed: true }])
await addContacts(world, account, ['x@example.com', 'bad@b.com'])
await post('/suppressions', { email: 'bad@b.com' })

const setDomain = (set: string) => world.pool.pg.query(`UPDATE domains SET ${set} WHERE id = $1`, [account.domain_id])

/** Sends a new campaign that must be refused; returns the message of its 422. */
async function refusal(fields: object, sending: object = {}): Promise<string> {
  const { status, body } = await send(await createDraft(api, account, fields), sending)
  t.strictSame([status, body.name], [422, 'validation_error'])
  return body.message
}

t.test('a campaign needs content, recipients and a published template', async t => {
  t.equal(await refusal({ html: null }), 'The campaign has no content: give it `html`, `text` or a `template_id`.')
  t.equal(
    await refusal({ audience_id: null }),
    'The campaign has no recipients: give it an `audience_id` or a `segment_id`.',
  )
  const template_id = (await post('/templates', { name: 'T', html: '<p>T</p>' })).body.id
  t.equal(await refusal({ html: null, template_id }), 'The template of the campaign is not published.')
  await post(`/templates/${template_id}/publish`)
  t.equal(await refusal({ html: null, template_id, subject: '' }), 'The campaign has no `subject`.')
  t.match(await refusal({ html: '<a href="{{link}}">x</a>' }), 'must begin with a scheme')
  t.equal(await refusal({ html: 'ü'.repeat(2_500_001) }), 'The `html` of a campaign must have at most 5,000,000 bytes.')
})

t.test('the subject of a campaign cannot have links of its recipients', async t => {
  const message = (key: string) =>
    `The \`subject\` cannot have the link \`{{${key}}}\`: only \`html\` and \`text\` can.`
  t.equal(await refusal({ subject: 'Leave: {{unsubscribe_url}}' }), message('unsubscribe_url'))
  t.equal(await refusal({ subject: 'Vote {{{ poll_url:yes }}}' }), message('poll_url:yes'))
  const variants = [{ subject: 'A' }, { subject: '{{{UNSUBSCRIBE_URL}}}' }]
  t.equal(await refusal({ ab_test: { variants } }), message('UNSUBSCRIBE_URL'))
  const id = await createDraft(api, account, { subject: 'March {{unsubscribe_url|news}}' })
  shows(t, await send(id), { status: 200 })
})

t.test('links to poll options in the preview text of a campaign belong to its poll', async t => {
  const poll = { question: 'Ok?', options: ['Yes', 'No'] }
  t.match(await refusal({ preview_text: 'Or {{poll_url:maybe}}', poll }), 'The poll has no option')
  const id = await createDraft(api, account, { preview_text: 'Vote {{poll_url:yes}} or {{poll_url:no}}' })
  shows(t, await send(id), { status: 200 })
  const { rows } = await world.pool.pg.query('SELECT options FROM polls WHERE campaign_id = $1', [id])
  t.strictSame(rows, [
    {
      options: [
        { key: 'yes', label: 'yes' },
        { key: 'no', label: 'no' },
      ],
    },
  ])
})

t.test('a campaign is sent with the published version of its template', async t => {
  const variables = [{ key: 'plan', type: 'string', fallback_value: 'free' }]
  const template = { name: 'T', html: '<p>one {{plan}}</p>', subject: 'One', reply_to: 'r@b.co', variables }
  const template_id = (await post('/templates', template)).body.id
  await post(`/templates/${template_id}/publish`)
  await api.request('PATCH', `/api/templates/${template_id}`, { body: { html: '<p>two</p>' } })
  const id = await createDraft(api, account, { html: null, subject: null, template_id })
  shows(t, await send(id), { status: 200 })
  const { rows } = await world.pool.pg.query(
    `SELECT c.html, g.subject, g.reply_to FROM campaigns g
     JOIN contents c ON c.account_id = g.account_id AND c.id = g.content_id WHERE g.id = $1`,
    [id],
  )
  t.match(rows[0], { html: /^<p>one {{plan\|"free"}}<\/p><p .*UNSUBSCRIBE_URL/ })
  shows(t, rows, [{ subject: 'One', reply_to: ['r@b.co'] }])
})

t.test('a campaign without recipients, or with another number than expected, is refused', async t => {
  const segment_id = (
    await post('/segments', { name: 'None', domain: account.domain, filter: { status: 'members_only' } })
  ).body.id
  t.equal(await refusal({ segment_id }), 'Nobody would get the campaign.')
  const expected = (expected_recipients: number) => refusal({}, { expected_recipients })
  t.equal(await expected(12), 'Only 10 contacts would get the campaign, not the 12 of `expected_recipients`.')
  t.equal(await expected(9), 'More than 9 contacts would get the campaign, not the 9 of `expected_recipients`.')
  shows(t, await send(await createDraft(api, account), { expected_recipients: 11 }), { status: 200 })
})

t.test('a domain that cannot send refuses campaigns like emails', async t => {
  await setDomain(`status = 'pending'`)
  t.match(await refusal({}), `The ${account.domain} domain is not verified: its status is \`pending\`.`)
  await setDomain(`status = 'verified', paused_at = now(), paused_by = 'operator'`)
  const { status, body } = await send(await createDraft(api, account))
  t.strictSame([status, body.name], [403, 'reputation_paused'])
  await setDomain('paused_at = NULL, paused_by = NULL')
})

t.test('a campaign that leaves the server is refused without a public https BASE_URL', async t => {
  const sendAs = async (BASE_URL: string, transport: string) => {
    const config = { ...world.config, BASE_URL, MAIL_TRANSPORT: transport }
    const other = await startApi(t, { ...world, config } as Foundation, account.key)
    const id = await createDraft(other, account)
    const { status, body } = await other.request('POST', `/api/campaigns/${id}/send`)
    return [status, body.message]
  }
  t.strictSame(await sendAs('http://localhost:3000', 'capture'), [200, undefined])
  t.strictSame(await sendAs('https://mail.acme.com', 'direct'), [200, undefined])
  for (const url of ['http://mail.acme.com', 'https://localhost', 'https://127.0.0.1', 'https://[::1]']) {
    const message = `Recipients could not open the links to unsubscribe: BASE_URL is ${url}, and must be a public \`https\` URL.`
    t.strictSame(await sendAs(url, 'direct'), [422, message])
  }
})

t.test('POST /campaigns/:id/send warns of a missing address, unsubscribe link, text or tracking', async t => {
  const warningsOf = async (fields: object) =>
    ((await send(await createDraft(api, account, fields))).body as unknown as { warnings: string[] }).warnings
  const address = 'There is no postal address for the footer, which the law of many countries requires.'
  t.strictSame(await warningsOf({}), [address])
  const { status } = await api.request('PATCH', `/api/domains/${account.domain_id}`, {
    body: { postal_address: '1 Main Street, Berlin' },
  })
  t.equal(status, 200)
  t.strictSame(await warningsOf({}), [])
  t.strictSame(await warningsOf({ exclude_unengaged_days: 30, track_clicks: true }), [])
  t.strictSame(await warningsOf({ exclude_unengaged_days: 30 }), [
    'Opens and clicks are not tracked, so nobody who gets this campaign counts as engaged for `exclude_unengaged_days`.',
  ])
  t.strictSame(await warningsOf({ html: 'x'.repeat(103 * 1024), text: '' }), [
    'The html has 104 KB: Gmail hides what is beyond 102 KB.',
    'There is no plain-text part, which spam filters expect.',
  ])
  const link = '<a href="{{unsubscribe_url}}">Unsubscribe</a>'
  const [left_out = '', ...others] = await warningsOf({ html: link })
  t.match(left_out, /^The postal address is left out: with a link of its own to unsubscribe/)
  t.strictSame(others, [])
  t.strictSame(await warningsOf({ html: `1 Main&nbsp;Street,<br>\n<b>BERLIN</b> ${link}` }), [])
  shows(t, await warningsOf({ html: '<a href="https://acme.com{{plan}}">Hi</a>', text: 'Hi' }), [
    /^The host of the link `https:\/\/acme\.com\{\{plan\}\}` depends on a value/,
  ])
})

t.test('POST /campaigns/:id/send warns of a segment without conditions', async t => {
  const made = async (fields: object) => {
    const { body } = await post('/segments', { name: newId(), domain: account.domain, ...fields })
    await post(`/contacts/p1@b.com/segments/${body.id}?domain=${account.domain}`)
    return body.id
  }
  const warningsOf = async (segment_id: string) =>
    (
      (await send(await createDraft(api, account, { audience_id: null, segment_id }))).body as unknown as {
        warnings: string[]
      }
    ).warnings
  shows(t, await warningsOf(await made({})), [
    /^The segment has no conditions, so it contains all contacts of the domain\. /,
  ])
  t.strictSame(await warningsOf(await made({ filter: { status: 'members_only' } })), [])
  t.strictSame(await warningsOf(account.domain_id), [])
})

t.test('POST /campaigns/:id/send warns when recipients of the domain complain', async t => {
  const strict = await newAccount(world)
  await addContacts(world, strict, ['ada@b.com'])
  const theirs = await startApi(t, world, strict.key)
  const warningsOf = async () => {
    const id = await createDraft(theirs, strict)
    const { body } = await theirs.request('POST', `/api/campaigns/${id}/send`, {})
    return {
      id,
      complaints: (body as unknown as { warnings: string[] }).warnings.filter(text => /complained/.test(text)),
    }
  }
  const { id, complaints } = await warningsOf()
  t.strictSame(complaints, [])
  await world.pool.pg.query(
    `SELECT count_campaigns(ARRAY[ROW($1, $2, 1, 0, 'sent', 1000), ROW($1, $2, 1, 0, 'complained', 2)]::campaign_move[])`,
    [strict.id, id],
  )
  t.strictSame((await warningsOf()).complaints, [
    "2 of the 1000 recipients of the domain's campaigns of the last 7 days complained.",
  ])
})

t.test('POST /campaigns with send creates and sends in one commit', async t => {
  const body = { from: `a@${account.domain}`, subject: 'Now', html: 'x', audience_id: account.domain_id, send: true }
  const { status, body: sent } = await post('/campaigns', body)
  t.equal(status, 201)
  shows(t, sent, { status: 'queued', warnings: [] })
  shows(t, await post('/campaigns', { ...body, scheduled_at: 'in 31 days' }), { status: 422 })
  shows(t, await post('/campaigns', { ...body, html: null, name: 'never' }), { status: 422 })
  shows(t, (await api.request('GET', '/api/campaigns?q=never')).body, { data: [] })
})

t.test('a campaign over the quota is refused with the remaining quota', async t => {
  await givePlan(world, account, { emails_per_day: 9, emails_per_month: 100 })
  const id = await createDraft(api, account)
  const { status, body } = await send(id)
  t.strictSame([status, body.name], [429, 'daily_quota_exceeded'])
  t.equal(body.message, 'The campaign has more recipients than your plan has room for: 9 of the next 24 hours.')
  await givePlan(world, account, { emails_per_day: 10, emails_per_month: 8 })
  await addCredits(world.pool, account.id, 1)
  const month = 'The campaign has more recipients than your plan has room for: 9 of the next 30 days.'
  shows(t, await send(id), { status: 429, body: { name: 'monthly_quota_exceeded', message: month } })
  await addCredits(world.pool, account.id, 1)
  shows(t, await send(id), { status: 200 })
  await choosePlan(world, account, 'unlimited')
})

t.test('GET /campaigns/:id/recipients/preview counts who would get it and why others would not', async t => {
  const topic_id = await makeTopic(world, account, { name: 'News', default_subscription: 'opt_in' })
  await world.pool.pg.query(
    `INSERT INTO contact_topics (account_id, topic_id, contact_id, subscription)
     SELECT account_id, $2, id, 'opt_out' FROM contacts WHERE domain_id = $1 AND email IN ('p1@b.com', 'p2@b.com')`,
    [account.domain_id, topic_id],
  )
  const previewOf = async (fields: object) => {
    const id = await createDraft(api, account, fields)
    return (await api.request('GET', `/api/campaigns/${id}/recipients/preview`)).body
  }
  const left_out = { unsubscribed: 1, not_subscribed_to_topic: 2, suppressed: 1, reserved_domain: 1 }
  shows(t, await previewOf({ topic_id }), { contacts: 13, recipients: 8, left_out })
  const { message } = await previewOf({ audience_id: null })
  t.equal(message, 'The campaign has no recipients: give it an `audience_id` or a `segment_id`.')

  const audience_id = (await post('/audiences', { name: 'Few', domain: account.domain })).body.id
  await post(`/audiences/${audience_id}/contacts`, { email: 'p1@b.com' })
  await post(`/audiences/${audience_id}/contacts`, { email: 'p5@b.com' })
  const filter = { email_contains: 'p5' }
  const segment_id = (await post('/segments', { name: 'Fives', domain: account.domain, filter })).body.id
  shows(t, await previewOf({ audience_id }), { contacts: 2, recipients: 2 })
  shows(t, await previewOf({ audience_id, segment_id }), { contacts: 1, recipients: 1 })
})

t.test('the audience, segment, topic and template of a scheduled campaign cannot be deleted', async t => {
  const audience_id = (await post('/audiences', { name: 'Gone', domain: account.domain })).body.id
  await post(`/audiences/${audience_id}/contacts`, { email: 'p1@b.com' })
  const segment_id = (await post('/segments', { name: 'All', domain: account.domain })).body.id
  const topic_id = await makeTopic(world, account, { name: 'Gone' })
  const template_id = (await post('/templates', { name: 'T', html: '<p>T</p>', subject: 'T' })).body.id
  await post(`/templates/${template_id}/publish`)
  const named = { audience_id, segment_id, topic_id, template_id, html: null, name: 'Spring' }
  const paths = { audience: audience_id, segment: segment_id, topic: topic_id, template: template_id }
  const id = await createDraft(api, account, named)
  shows(t, await send(id, { scheduled_at: 'in 2 hours' }), { status: 200 })
  for (const [what, one] of Object.entries(paths)) {
    const { status, body } = await api.request('DELETE', `/api/${what}s/${one}`)
    t.strictSame(
      [status, body.message],
      [422, `The ${what} is used by the campaign "Spring": cancel the campaign first.`],
    )
  }
  await post(`/campaigns/${id}/cancel`)
  for (const [what, one] of Object.entries(paths)) {
    shows(t, await api.request('DELETE', `/api/${what}s/${one}`), { status: 200 })
  }
  shows(t, await send(id), { status: 422 })
  const read = async () => (await api.request('GET', `/api/campaigns/${id}`)).body
  shows(t, await patch(id, { subject: 'April' }), { status: 200, body: { id } })
  shows(t, await read(), { ...named, subject: 'April' })
  for (const [what, one] of Object.entries(paths)) {
    const { status, body } = await patch(id, { [`${what}_id`]: one })
    t.strictSame([status, body.message.toLowerCase()], [404, `${what} not found`])
    shows(t, await patch(id, { [`${what}_id`]: null }), { status: 200 })
  }
  shows(t, await read(), { audience_id: null, segment_id: null, topic_id: null, template_id: null })
})

t.test('a property that the mail of a scheduled or running campaign names cannot be deleted', async t => {
  const property = (await post('/contact-properties', { key: 'town', type: 'string' })).body.id
  const remove = () => api.request('DELETE', `/api/contact-properties/${property}`)
  const template = { name: 'T', html: '<p>{{ contact.properties.town|there }}</p>', subject: 'T' }
  const template_id = (await post('/templates', template)).body.id
  await post(`/templates/${template_id}/publish`)
  const variants = [{ subject: 'A' }, { subject: 'B', html: '<p>{{town}}</p>' }]
  const users: [object, object][] = [
    [{ html: '<p>{{town}}</p>' }, {}],
    [{ subject: 'To {{town}}' }, { scheduled_at: 'in 2 hours' }],
    [{ html: null, template_id }, {}],
    [{ html: null, template_id }, { scheduled_at: 'in 2 hours' }],
    [{ ab_test: { variants } }, {}],
  ]
  for (const [fields, sending] of users) {
    const id = await createDraft(api, account, { name: 'Towns', ...fields })
    shows(t, await send(id, sending), { status: 200 })
    shows(t, await remove(), {
      ...{ status: 422, body: { message: 'The property is used by the campaign "Towns": cancel the campaign first.' } },
    })
    shows(t, await post(`/campaigns/${id}/cancel`), { status: 200 })
  }
  shows(t, await send(await createDraft(api, account, { html: '<p>town {{towns}} {{to}}</p>' })), { status: 200 })
  shows(t, await remove(), { status: 200 })
})

t.test('POST /campaigns/:id/test sends to given addresses with values of their contacts', async t => {
  await api.request('PATCH', `/api/contacts/p3@b.com?domain=${account.domain}`, {
    body: { domain: account.domain, first_name: 'Ann' },
  })
  const html = '<p>{{first_name|friend}} {{last_name}}</p><a href="{{unsubscribe_url}}">x</a>'
  const id = await createDraft(api, account, { html, subject: 'To {{first_name}}' })
  const { status, body } = await post(`/campaigns/${id}/test`, { to: ['p3@b.com', 'new@b.com'] })
  t.equal(status, 200)
  const { emails } = body as unknown as { emails: { id: string; to: string }[] }
  t.strictSame(
    emails.map(({ to }) => to),
    ['p3@b.com', 'new@b.com'],
  )
  const [known, unknown] = await Promise.all(emails.map(({ id }) => api.request('GET', `/api/emails/${id}`)))
  shows(t, known?.body, { subject: 'To Ann', campaign_id: null, tags: [{ name: 'campaign_test', value: id }] })
  t.match(known?.body, { html: /^<p>Ann <\/p>/ })
  shows(t, unknown?.body, { subject: 'To ' })
  t.match(unknown?.body, { html: /^<p>friend <\/p>/ })
  shows(t, (await api.request('GET', `/api/campaigns/${id}`)).body, { status: 'draft' })
  shows(t, await post(`/campaigns/${id}/test`), { status: 422 })
  shows(t, await post(`/campaigns/${newId()}/test`), { status: 404 })
})

t.test('POST /campaigns/:id/test uses the fallbacks that the campaign uses', async t => {
  await post('/contact-properties', { key: 'plan', type: 'string', fallback_value: 'free' })
  const id = await createDraft(api, account, { html: '<p>{{plan|premium}} {{plan}}</p>' })
  const { body } = await post(`/campaigns/${id}/test`, { to: ['p4@b.com', 'new@b.com'] })
  const { emails } = body as unknown as { emails: { id: string }[] }
  for (const { id } of emails) {
    t.match((await api.request('GET', `/api/emails/${id}`)).body, { html: /^<p>premium free<\/p>/ })
  }
})

t.test('the fallbacks of a template apply to the subject and preview text of its campaign', async t => {
  const variables = [{ key: 'tier', type: 'string', fallback_value: 'free' }]
  const template = { name: 'T', html: '<p>{{tier}}</p>', subject: 'One', variables }
  const template_id = (await post('/templates', template)).body.id
  await post(`/templates/${template_id}/publish`)
  const own = { subject: 'Your {{tier}} plan', preview_text: 'It is {{tier}}.' }
  const id = await createDraft(api, account, { html: null, template_id, ...own })
  const { body } = await post(`/campaigns/${id}/test`, { to: 'p5@b.com' })
  const [email] = (body as unknown as { emails: { id: string }[] }).emails
  const sent = (await api.request('GET', `/api/emails/${email?.id}`)).body
  t.match(sent, { subject: 'Your free plan', html: /It is free\..*<p>free<\/p>/ })
  shows(t, await send(id), { status: 200 })
  shows(t, (await api.request('GET', `/api/campaigns/${id}`)).body, own)
})
