import { DomUtils, parseDocument } from 'htmlparser2'
import t from 'tap'
import { saveMembership } from '#sql/members/members.ts'
import { startApi } from '#test/support/api.ts'
import { newMember, PASSWORD, sessionOf } from '#test/support/members.ts'
import { countMetrics } from '#test/support/metrics.ts'
import { insertLogRows } from '#test/support/request_log.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const owner = await newMember(world, account.id, 'owner')
const headers = {
  ...{ cookie: `mailbrook=${await sessionOf(world, owner.id)}`, 'sec-fetch-site': 'same-origin' },
  ...{ accept: 'text/html', 'user-agent': 'browser' },
}

const show = async (path: string) => (await fetch(api.url + path, { headers })).text()
const CHARACTERS: Record<string, string> = { quot: '"', '#39': "'", lt: '<', gt: '>', amp: '&' }
const unescapeHtml = (text = '') => text.replaceAll(/&(.*?);/g, (_, name: string) => CHARACTERS[name] ?? '')

/** Submits a form as a browser does; returns the status. */
async function submit(path: string, fields: Record<string, string>): Promise<number> {
  const body = new URLSearchParams(fields)
  return (await fetch(api.url + path, { method: 'POST', headers, body, redirect: 'manual' })).status
}

/** Returns the value of an input in a page. */
const inputValue = (page: string, name: string) =>
  unescapeHtml(new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(page)?.[1])

/** Returns the fields of a form of a page, as a browser submits them. */
function formOf(page: string, action: string): Record<string, string> {
  const { findOne, findAll, getAttributeValue: attribute, textContent } = DomUtils
  const form = findOne(
    ({ name, attribs }) => name === 'form' && attribs.action === action,
    parseDocument(page).children,
  )
  const fields = findAll(({ name }) => /^(?:input|select|textarea)$/.test(name), form?.children ?? [])
  const entries = fields.flatMap((field): [string, string][] => {
    const { name = '', type, value = '', checked } = field.attribs
    if (type === 'checkbox' && checked === undefined) return []
    if (field.name === 'textarea') return [[name, textContent(field).replace(/^\n/, '')]]
    if (field.name !== 'select') return [[name, type === 'checkbox' ? 'on' : value]]
    const options = findAll(({ name }) => name === 'option', field.children)
    const chosen = options.find(({ attribs }) => attribs.selected !== undefined) ?? options[0]
    return [[name, (chosen && attribute(chosen, 'value')) ?? '']]
  })
  return Object.fromEntries(entries)
}

/** Submits a form that is rejected; returns the page that shows it again. */
async function rejected(path: string, fields: Record<string, string>): Promise<string> {
  const response = await fetch(api.url + path, { method: 'POST', headers, body: new URLSearchParams(fields) })
  if (response.ok) throw new Error(`${path} responded with ${response.status}`)
  return response.text()
}

/** Returns true if a checkbox of a page is ticked. */
const isTicked = (page: string, name: string) => new RegExp(`name="${name}"[^>]* checked`).test(page)

t.test('saving a contact keeps fallback values apart, and removes properties that were deleted', async t => {
  const plan = await api.request('POST', '/api/contact-properties', {
    body: { key: 'plan', type: 'string', fallback_value: 'free' },
  })
  await api.request('POST', '/api/contact-properties', { body: { key: 'city', type: 'string' } })
  const body = { email: 'ann@b.com', domain: account.domain, properties: { city: 'Bonn' } }
  const { id } = (await api.request('POST', '/api/contacts', { body })).body
  const page = await show(`/contacts/${id}`)
  const shown = inputValue(page, 'shown')
  t.same(JSON.parse(shown), { plan: 'free', city: 'Bonn' })
  t.equal(await submit(`/contacts/${id}`, { first_name: 'Ann', last_name: '', properties: shown, shown }), 303)
  await api.request('PATCH', `/api/contact-properties/${plan.body.id}`, { body: { fallback_value: 'basic' } })
  const saved = await api.request('GET', `/api/contacts/${id}`)
  t.match(saved.body, { first_name: 'Ann', properties: { plan: 'basic', city: 'Bonn' } })
  const rest = { first_name: 'Ann', last_name: '', properties: '{"plan":"free"}', shown }
  t.equal(await submit(`/contacts/${id}`, rest), 303)
  const { properties } = (await api.request('GET', `/api/contacts/${id}`)).body as unknown as { properties: object }
  t.same(properties, { plan: 'basic' })
})

t.test('saving a contact keeps a name that was changed after its page was opened', async t => {
  const body = { email: 'eve@b.com', domain: account.domain, first_name: ' Eve ', last_name: 'Old' }
  const { id } = (await api.request('POST', '/api/contacts', { body })).body
  const page = await show(`/contacts/${id}`)
  const names = ['first_name', 'last_name', 'shown_first_name', 'shown_last_name', 'shown']
  const fields = Object.fromEntries(names.map(name => [name, inputValue(page, name)]))
  await api.request('PATCH', `/api/contacts/${id}`, { body: { last_name: 'New' } })
  t.equal(await submit(`/contacts/${id}`, fields), 303)
  shows(t, await api.request('GET', `/api/contacts/${id}`), { body: { first_name: ' Eve ', last_name: 'New' } })
  t.equal(await submit(`/contacts/${id}`, { ...fields, last_name: '' }), 303)
  shows(t, await api.request('GET', `/api/contacts/${id}`), { body: { first_name: ' Eve ', last_name: null } })
})

t.test('the form of an import offers the default audience first', async t => {
  await api.request('POST', '/api/audiences', { body: { name: 'VIP', domain: account.domain } })
  const [, first] = /<select[^>]* name="audience_id"[^>]*><option value="([^"]*)"/.exec(await show('/imports')) ?? []
  t.equal(first, account.domain_id)
})

t.test('adding a contact that exists keeps its names', async t => {
  const names = { first_name: 'Bob', last_name: 'Lee' }
  const { id } = (
    await api.request('POST', '/api/contacts', { body: { email: 'bob@b.com', domain: account.domain, ...names } })
  ).body
  const empty = { first_name: '', last_name: '', properties: '' }
  t.equal(await submit('/contacts', { email: 'bob@b.com', domain: account.domain, ...empty }), 303)
  t.match((await api.request('GET', `/api/contacts/${id}`)).body, names)
})

t.test('saving a template clears empty fields, and keeps the choice to send no text', async t => {
  const content = { name: 'T', html: '<p>Hi</p>', subject: 'Old', from: `a@${account.domain}`, text: '' }
  const { id } = (await api.request('POST', '/api/templates', { body: content })).body
  const fields = { name: 'T', alias: '', from: '', subject: '', html: '<p>Hi</p>', text: '', no_text: 'on' }
  t.equal(await submit(`/templates/${id}`, fields), 303)
  t.match((await api.request('GET', `/api/templates/${id}`)).body, { from: '', subject: '', text: '' })
})

t.test('saving a draft clears empty fields, and changes nothing else', async t => {
  const from = `a@${account.domain}`
  const rest = {
    ...{ track_opens: true, track_clicks: false, recurrence: 'weekly', recurrence_every: 2, timezone: 'Europe/Berlin' },
    ab_test: { test_percentage: 20, wait_hours: 1, variants: [{ subject: 'Red' }, { subject: 'Blue' }] },
  }
  const content = { from, subject: 'Old', html: '<p>Hi</p>', audience_id: account.domain_id, reply_to: 'r@b.com' }
  const { id } = (await api.request('POST', '/api/campaigns', { body: { ...content, ...rest } })).body
  const read = async () => ({ ...(await api.request('GET', `/api/campaigns/${id}`)).body, updated_at: null })
  const before = await read()
  t.equal(await submit(`/campaigns/${id}`, formOf(await show(`/campaigns/${id}`), `/campaigns/${id}`)), 303)
  shows(t, await read(), before, 'saving an unchanged form changes nothing')
  const shown = formOf(await show(`/campaigns/${id}`), `/campaigns/${id}`)
  const fields = { ...shown, name: 'C', subject: 'New', audience_id: '', reply_to: '' }
  t.equal(await submit(`/campaigns/${id}`, fields), 303)
  shows(t, await read(), { ...before, name: 'C', subject: 'New', audience_id: null, reply_to: [] })
  const again = formOf(await show(`/campaigns/${id}`), `/campaigns/${id}`)
  t.match(await rejected(`/campaigns/${id}`, { ...again, template_id: 'none' }), 'Template not found')
})

t.test('a form that was opened before somebody else saved the draft or the template is rejected', async t => {
  const content = { from: `a@${account.domain}`, subject: 'Old', html: '<p>Hi</p>', name: 'N' }
  for (const kind of ['campaigns', 'templates']) {
    const { id } = (await api.request('POST', `/api/${kind}`, { body: content })).body
    const path = `/${kind}/${id}`
    const opened = formOf(await show(path), path)
    t.equal(await submit(path, { ...opened, subject: 'First' }), 303)
    for (const action of [path, `${path}/test`]) {
      const page = await rejected(action, { ...opened, subject: 'Second', to: 'b@c.com' })
      t.match(page, 'This was changed elsewhere after you had opened the page.')
      t.equal(inputValue(page, 'subject'), 'Second', 'what was typed is kept')
    }
    shows(t, (await api.request('GET', `/api${path}`)).body, { subject: 'First' })
    t.equal(await submit(path, { ...formOf(await show(path), path), subject: 'Second' }), 303)
    shows(t, (await api.request('GET', `/api${path}`)).body, { subject: 'Second' })
  }
})

t.test('saving a segment without changes keeps its rules', async t => {
  await api.request('POST', '/api/contact-properties', { body: { key: 'score', type: 'number' } })
  const { id: topic } = (
    await api.request('POST', '/api/topics', { body: { name: 'News', default_subscription: 'opt_in' } })
  ).body
  const { id: other } = (
    await api.request('POST', '/api/segments', { body: { name: 'Other', domain: account.domain } })
  ).body
  const { id: campaign_id } = (
    await api.request('POST', '/api/campaigns', { body: { from: `a@${account.domain}`, subject: 'S' } })
  ).body
  const conditions = [
    { field: 'email', operator: 'contains', value: '007' },
    { field: 'first_name', operator: 'eq', value: ' null ' },
    { field: 'last_name', operator: 'exists' },
    { field: 'created_at', operator: 'after', value: '2026-01-02T03:04:05.000Z' },
    { field: 'created_at', operator: 'within_days', value: 30 },
    { field: 'unsubscribed', operator: 'eq', value: false },
    { field: 'properties.city', operator: 'eq', value: '5' },
    { field: 'properties.city', operator: 'contains', value: 'say "hi"' },
    { field: 'properties.score', operator: 'gte', value: 1.5 },
    { field: 'topic', operator: 'eq', value: topic },
    { field: 'segment', operator: 'eq', value: other },
    { field: 'engagement', operator: 'opened', value: { campaign_id } },
    { field: 'engagement', operator: 'not_clicked', value: { within_days: 1 } },
    { field: 'engagement', operator: 'clicked', value: { count: 3 } },
  ]
  const filter = {
    ...{ status: 'subscribed', email_contains: '@', engagement: null },
    property_filters: [{ key: 'city', operator: 'exists' }],
  }
  const nested = { not: { or: [{ and: conditions.slice(0, 2) }, conditions[2]] } }
  const many = [...conditions, { and: conditions }, { or: conditions.slice(0, 3) }, nested]
  const { id } = (await api.request('POST', '/api/segments', { body: { name: 'All', domain: account.domain, filter } }))
    .body
  for (const rules of [null, ...many]) {
    t.equal((await api.request('PATCH', `/api/segments/${id}`, { body: { rules } })).status, 200)
    const fields = formOf(await show(`/segments/${id}/edit`), `/segments/${id}`)
    t.equal(await submit(`/segments/${id}`, fields), 303)
    shows(t, (await api.request('GET', `/api/segments/${id}`)).body, { name: 'All', filter, rules })
  }
})

t.test('renaming an API key keeps the time at which it expires', async t => {
  const expires_at = `${new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)}T15:30:00.000Z`
  const asked = { key: null, headers, body: { name: 'old', expires_at } }
  const { id } = (await api.request('POST', '/api/api-keys', asked)).body
  const page = await show(`/api-keys/${id}`)
  const days = { expires_at: inputValue(page, 'expires_at'), shown_expires_at: inputValue(page, 'shown_expires_at') }
  const fields = { name: 'new', permission: 'full_access', domain_id: '', default_domain_id: '', ...days }
  t.equal(await submit(`/api-keys/${id}`, fields), 303)
  const { data } = (await api.request('GET', '/api/api-keys')).body
  t.match(
    data.find(key => key.id === id),
    { name: 'new', expires_at },
  )
})

t.test('forms offer all audiences', async t => {
  for (let n = 0; n < 22; n++) {
    await api.request('POST', '/api/audiences', { body: { name: `Readers ${n}.`, domain: account.domain } })
  }
  for (const path of ['/imports', '/campaigns']) t.match(await show(path), 'Readers 0.')
})

t.test('the page of a domain downloads its records as a zone file', async t => {
  const [, path = ''] = /href="([^"]+)"[^>]*>Download zone file/.exec(await show(`/domains/${account.domain_id}`)) ?? []
  const response = await fetch(api.url + path, { headers })
  t.match(response.headers.get('content-disposition'), `filename="${account.domain}.zone"`)
  t.match(await response.text(), /\tIN\tTXT\t/)
})

t.test('saving a webhook neither resets its failures nor enables it again', async t => {
  const { id } = (
    await api.request('POST', '/api/webhooks', { body: { endpoint: 'https://acme.com/hook', events: ['*'] } })
  ).body
  await world.pool.pg.query('UPDATE webhooks SET failure_count = 49 WHERE id = $1', [id])
  const shown_status = inputValue(await show(`/webhooks/${id}`), 'shown_status')
  const fields = { endpoint: 'https://acme.com/hook', events: 'email.sent', enabled: 'on', shown_status }
  t.equal(await submit(`/webhooks/${id}`, fields), 303)
  shows(t, (await api.request('GET', `/api/webhooks/${id}`)).body, { failure_count: 49, status: 'enabled' })
  await world.pool.pg.query(
    `UPDATE webhooks SET status = 'disabled', disabled_reason = 'too_many_failures' WHERE id = $1`,
    [id],
  )
  t.equal(await submit(`/webhooks/${id}`, fields), 303)
  shows(t, (await api.request('GET', `/api/webhooks/${id}`)).body, { status: 'disabled' })
})

t.test('wrong ids and NUL characters are refused', async t => {
  const nul = '\0'
  t.equal(await submit('/login', { email: nul, password: 'x' }), 422)
  t.equal(await submit('/templates', { name: 'T', html: nul }), 422)
  t.equal(await submit('/profile/passkeys/x/delete', {}), 404)
  t.equal(await submit('/members/invitations/x/delete', {}), 404)
  for (const path of ['/emails?folder=in+doubt&after=x', '/captured?after=x', '/captured?before=%00']) {
    t.match(await show(path), 'Not found')
  }
  t.equal((await api.request('GET', '/api/events/%00')).status, 404)
})

t.test('the form to sign in is short, and takes no file', async t => {
  t.equal(await submit('/login', { email: 'a@b.com', password: 'x'.repeat(70_000) }), 422)
  const form = new FormData()
  form.set('file', new Blob(['email']), 'contacts.csv')
  t.equal((await fetch(`${api.url}/login`, { method: 'POST', headers, body: form })).status, 422)
})

t.test(
  'a form sent after the session has ended is kept without its passwords, and only from pages of this server',
  async t => {
    const keptFrom = async (site: string) => {
      const signedOut = { ...headers, cookie: '', 'sec-fetch-site': site }
      const body = new URLSearchParams({ old_password: 'a secret', password: 'another', name: 'Ann' })
      const response = await fetch(`${api.url}/profile/password`, { method: 'POST', headers: signedOut, body })
      t.equal(response.status, 401)
      return Buffer.from(inputValue(await response.text(), 'kept_form'), 'base64url').toString()
    }
    t.equal(await keptFrom('same-origin'), 'name=Ann')
    t.equal(await keptFrom('cross-site'), '')
  },
)

t.test('a rejected form changes no checkbox of other forms', async t => {
  const body = { endpoint: 'https://acme.com/hook', events: ['*'] }
  const { id } = (await api.request('POST', '/api/webhooks', { body })).body
  t.ok(isTicked(await rejected(`/webhooks/${id}/replay`, { from: 'x', to: '', status: 'failed' }), 'enabled'))
  const fields = { endpoint: 'x', events: '*', has_enabled: '1' }
  t.notOk(isTicked(await rejected(`/webhooks/${id}`, fields), 'enabled'))
  t.ok(isTicked(await rejected(`/webhooks/${id}`, { ...fields, enabled: 'on' }), 'enabled'))
})

t.test('a form that names a deleted record is shown again with all that was typed', async t => {
  const { id } = (await api.request('POST', '/api/topics', { body: { name: 'T', default_subscription: 'opt_in' } }))
    .body
  await api.request('DELETE', `/api/topics/${id}`)
  const fields = { name: 'March', from: `a@${account.domain}`, subject: 'S', topic_id: id, html: '<p>typed</p>' }
  const page = await rejected('/campaigns', fields)
  for (const part of ['Topic not found', 'March', '&lt;p&gt;typed&lt;/p&gt;']) t.match(page, part)
})

t.test('a notice that is cut in the middle of a character is shown', async t => {
  const content = { name: 'T', html: '<p>Hi</p>', subject: 'S', from: `a@${account.domain}` }
  const { id } = (await api.request('POST', '/api/templates', { body: content })).body
  for (const first of ['', 'x']) {
    const to = [...'abcdefgh'].map(name => `${'😀'.repeat(20)} <${name}@${account.domain}>`).join(', ')
    t.equal(await submit(`/templates/${id}/test`, { ...content, to: first + to }), 303)
  }
})

t.test('a form of a page is rejected once its member has switched to another account', async t => {
  const other = await newAccount(world)
  await world.pool.transaction(tx => saveMembership(tx, other.id, owner.id, 'owner'))
  const in_account = inputValue(await show('/suppressions'), 'in_account')
  t.equal(await submit('/account', { account_id: other.id }), 303)
  const fields = { email: 'bob@b.com', reason: 'manual', in_account }
  const page = await rejected('/suppressions', fields)
  t.match(page, 'This form was opened in another account')
  t.match(page, 'value="bob@b.com"')
  shows(t, (await api.request('GET', '/api/suppressions', { key: other.key })).body, { data: [] })
  t.equal(await submit('/suppressions', { ...fields, in_account: inputValue(page, 'in_account') }), 303)
  t.equal(await submit('/account', { account_id: account.id }), 303)
})

t.test('the curl command of a logged request runs no command in its path', async t => {
  const path = "/emails/$(touch$IFS'x')"
  const [id] = await insertLogRows(world.pool, account, [{ endpoint: path }])
  const commandOf = async (id = '') => unescapeHtml(/data-copy="([^"]*)"/.exec(await show(`/logs/${id}`))?.[1])
  const quoted = path.replaceAll("'", "'\\''")
  t.match(await commandOf(id), `curl '${world.config.BASE_URL}/api${quoted}' -H`)
})

t.test('the form of an API key has its domain, even if the account has more than a select offers', async t => {
  const { pool } = world
  const other = await newAccount(world)
  await pool.transaction(tx => saveMembership(tx, other.id, owner.id, 'owner'))
  const asked = { key: null, headers, body: { name: 'old', permission: 'sending_access', domain_id: other.domain_id } }
  t.equal(await submit('/account', { account_id: other.id }), 303)
  const { id } = (await api.request('POST', '/api/api-keys', asked)).body
  await pool.pg.query(
    `INSERT INTO domains (account_id, id, name)
     SELECT $1, overlay(gen_random_uuid()::text PLACING 'f' FROM 1)::uuid, 'd' || n || '.acme.com' FROM generate_series(1, 1000) n`,
    [other.id],
  )
  t.match(await show(`/api-keys/${id}`), `<option value="${other.domain_id}" selected>`)
  t.equal(await submit('/account', { account_id: account.id }), 303)
})

t.test('a page that shows a rejected form links to the other pages of its list', async t => {
  const { id } = (await api.request('POST', '/api/audiences', { body: { name: 'Many', domain: account.domain } })).body
  for (let n = 0; n < 51; n++) {
    const body = { email: `many${n}@b.com` }
    await api.request('POST', `/api/audiences/${id}/contacts`, { body })
  }
  const [, path = ''] =
    /rel="next" href="([^"]+)"/.exec(await rejected(`/audiences/${id}/delete`, { in_account: 'x' })) ?? []
  t.match(await show(path), 'many0@b.com')
})

t.test('saving the variables of a template keeps fallback values that are empty or have blanks', async t => {
  const fallbacks = { a: '', b: ', friend\n', c: 7, d: null }
  const variables = Object.entries(fallbacks).map(([key, fallback_value]) => ({
    ...{ key, fallback_value, type: typeof fallback_value === 'number' ? 'number' : 'string' },
  }))
  const body = { name: 'T', html: '{{a}}{{b}}{{c}}{{d}}', variables }
  const { id } = (await api.request('POST', '/api/templates', { body })).body
  const types = { type_a: 'string', type_b: 'string', type_c: 'number', type_d: 'string' }
  const shown = { fallback_a: '', fallback_b: ', friend', fallback_c: '7', fallback_d: '' }
  const stored = async () =>
    (await api.request('GET', `/api/templates/${id}`)).body as unknown as { variables: object[] }
  t.equal(await submit(`/templates/${id}/variables`, { ...types, ...shown }), 303)
  shows(t, (await stored()).variables, variables)
  t.equal(await submit(`/templates/${id}/variables`, { ...types, ...shown, fallback_b: '', fallback_d: 'x' }), 303)
  shows(t, (await stored()).variables, [
    { fallback_value: '' },
    { fallback_value: null },
    { fallback_value: 7 },
    { fallback_value: 'x' },
  ])
})

/** Returns the values of all fields of a page as a browser would submit them: inputs lose their line breaks. */
function fieldsOf(page: string): Record<string, string> {
  const main = page.slice(page.indexOf('<main'))
  const inputs = [...main.matchAll(/<input type="(?:text|hidden)"[^>]* name="(\w+)"[^>]* value="([^"]*)"/g)]
  const selects = [...main.matchAll(/<select [^>]*name="(\w+)".*?<option value="([^"]*)" selected/gs)]
  return Object.fromEntries(
    [...inputs, ...selects].map(([, name, value]) => [name, unescapeHtml(value).replaceAll(/[\r\n]/g, '')]),
  )
}

t.test('saving a step without a change keeps its configuration', async t => {
  const automation = { name: 'A', domain: account.domain, trigger: 'signed.up' }
  const { id } = (await api.request('POST', '/api/automations', { body: automation })).body
  const values = [' gold ', 'a\nb', 1e-7, 1e21, '1e5', '', '"x"', 'null', null, true, 'true', 'a "b" c']
  const rules = values.map(value => ({ type: 'rule', field: 'event.plan', operator: 'eq', value }))
  const configs = [
    { type: 'contact_update', config: { first_name: 'null', last_name: '{x' } },
    { type: 'contact_update', config: { first_name: '"Al"', last_name: null } },
    { type: 'contact_update', config: { first_name: { var: 'event.name' }, last_name: 'O"Hara' } },
    { type: 'send_email', config: { subject: 'S', template: null, reply_to: ['"Lee, Ann" <ann@b.com>', 'bob@b.com'] } },
    { type: 'condition', config: { type: 'and', rules } },
  ]
  for (const body of configs) {
    const step = await api.request('POST', `/api/automations/${id}/steps`, { body })
    t.equal(step.status, 201, step.text)
    const path = `/automations/${id}/steps/${step.body.id}`
    t.equal(await submit(path, fieldsOf(await show(path))), 303)
    const { steps } = (await api.request('GET', `/api/automations/${id}`)).body as unknown as {
      steps: { config: object }[]
    }
    t.strictSame(steps.at(-1)?.config, (step.body as unknown as { config: object }).config)
  }
})

t.test('an import maps a column whose name has a comma', async t => {
  const form = new FormData()
  form.set('file', new Blob(['email,"Plan, now"\nbo@b.com,gold\n']), 'contacts.csv')
  form.set('columns', 'tariff = Plan, now')
  form.set('audience_id', account.domain_id)
  form.set('create_properties', 'on')
  const asked = { method: 'POST', headers, body: form, redirect: 'manual' } as const
  t.equal((await fetch(`${api.url}/imports`, asked)).status, 303)
})

t.test('a rejected form of a contact changes only the properties that its member has changed', async t => {
  const body = { email: 'eve@b.com', domain: account.domain, properties: { city: 'Bonn' } }
  const { id } = (await api.request('POST', '/api/contacts', { body })).body
  const fields = { first_name: '', last_name: '', properties: '{"city":"Bonn"', shown: '{"city":"Bonn"}' }
  await api.request('PATCH', `/api/contacts/${id}`, { body: { properties: { city: 'Rome' } } })
  const shown = inputValue(await rejected(`/contacts/${id}`, fields), 'shown')
  t.equal(await submit(`/contacts/${id}`, { ...fields, first_name: 'Eve', properties: '{"city":"Bonn"}', shown }), 303)
  const saved = (await api.request('GET', `/api/contacts/${id}`)).body
  t.match(saved, { first_name: 'Eve', properties: { city: 'Rome' } })
})

t.test('the report of an earlier run shows the hours after that run', async t => {
  const body = {
    from: `a@${account.domain}`,
    subject: 'S',
    html: 'x',
    audience_id: account.domain_id,
    recurrence: 'weekly',
  }
  const { id } = (await api.request('POST', '/api/campaigns', { body })).body
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1_000).toISOString()
  const starts = [daysAgo(9), daysAgo(2)] as const
  for (const [n, at] of starts.entries()) {
    await world.pool.pg.query(
      `INSERT INTO campaign_runs (account_id, campaign_id, run, created_at, finished_at) VALUES ($1, $2, $3, $4, $4)`,
      [account.id, id, n + 1, at],
    )
  }
  await world.pool.pg.query(`UPDATE campaigns SET status = 'sent', started_at = $2 WHERE id = $1`, [id, starts[1]])
  const hourOf = (at: string) => `${at.slice(0, 13).replace('T', ' ')}:00 UTC`
  const hour = /Opens and clicks by hour.*?<p class="axis"><span>([^<]*)/s
  t.equal(hour.exec(await show(`/campaigns/${id}?run=1`))?.[1], hourOf(starts[0]))
  t.equal(hour.exec(await show(`/campaigns/${id}`))?.[1], hourOf(starts[1]))
})

t.test('the report of a campaign is shown if its figures by hour are no longer kept', async t => {
  const body = { from: `a@${account.domain}`, subject: 'S', html: 'x', audience_id: account.domain_id }
  const { id } = (await api.request('POST', '/api/campaigns', { body })).body
  t.match(await show(`/campaigns/${id}`), '>Delete</button>')
  await world.pool.pg.query(`UPDATE campaigns SET status = 'sent', started_at = '2020-01-01' WHERE id = $1`, [id])
  const page = await show(`/campaigns/${id}`)
  t.match(page, /Delivery to 0 recipients.*by hour are not kept for more than 400 days/s)
  t.notMatch(page, '>Delete</button>', 'a sent campaign cannot be deleted')
})

t.test('the overview has the figures of GET /emails/metrics', async t => {
  const at = new Date()
  await countMetrics(world, account, [
    ...[{ name: 'sent', by: 10, at } as const, { name: 'delivered', by: 9, at } as const],
    ...[{ name: 'bounced_permanent', by: 2, at } as const, { name: 'failed', by: 3, at } as const],
  ])
  const tile = (name: string) => new RegExp(`<li>${name} <strong>(.*?)</strong>`).exec(page)?.[1]
  const page = await show('/')
  const { totals } = (await api.request('GET', '/api/emails/metrics')).body as unknown as {
    totals: Record<string, number>
  }
  // One of the two was rejected at once, and is not among the 10.
  t.match(totals, { sent: 10, delivery_rate: 0.8182, bounce_rate: 0.1818 })
  t.equal(tile('Sent'), '10')
  t.equal(tile('Delivered'), '9 <small>81.8%</small>')
  t.equal(tile('Bounced'), '2 <small>18.2%</small>')
})

t.test('signing in leads only to paths of this server that a header can have', async t => {
  const locationOf = async (next: string) => {
    const body = new URLSearchParams({ email: owner.email, password: PASSWORD, next })
    const response = await fetch(`${api.url}/login`, { method: 'POST', headers, body, redirect: 'manual' })
    return response.headers.get('location')
  }
  t.equal(await locationOf('/emails?q=%E2%82%AC'), '/emails?q=%E2%82%AC')
  for (const next of ['/€', '/\u007f', '/\x01', '//evil.com', '/\\evil.com', '/\t/evil.com', 'https://evil.com']) {
    t.equal(await locationOf(next), '/', JSON.stringify(next))
  }
})

t.test('the pages of a contact and of a webhook lead to older emails and events', async t => {
  const hook = { endpoint: 'https://acme.com/hook', events: ['email.sent', 'contact.created'] }
  const webhook = (await api.request('POST', '/api/webhooks', { body: hook })).body
  const to = ['reader@b.com']
  const contact = (await api.request('POST', '/api/contacts', { body: { email: to[0], domain: account.domain } })).body
  const body = Array.from({ length: 51 }, (_, n) => ({
    from: `a@${account.domain}`,
    to,
    subject: `Mail ${n}.`,
    text: 'x',
  }))
  await api.request('POST', '/api/emails/batch', { body })
  for (let n = 0; n < 50; n++) {
    await api.request('POST', '/api/contacts', { body: { email: `event${n}@b.com`, domain: account.domain } })
  }
  for (const path of [`/contacts/${contact.id}`, `/webhooks/${webhook.id}`]) {
    const [, older = ''] = /rel="next" href="([^"]+)"/.exec(await show(path)) ?? []
    t.match(older, `${path}?after=`)
    t.match(await show(older), /<tbody>\s*<tr>/)
  }
})

t.test('the folder of emails in doubt says that it ignores the other filters', async t => {
  const note = 'ignores the other filters'
  t.match(await show('/emails?folder=in+doubt&q=x'), note)
  for (const query of ['folder=in+doubt&q=', 'folder=sent&q=x']) t.notMatch(await show(`/emails?${query}`), note)
})
