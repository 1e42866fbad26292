import PostalMime from 'postal-mime'
import t, { type Test } from 'tap'
import { newId } from '#lib/ids.ts'
import { forgetSettledEmails } from '#sql/sending/emails.ts'
import { clear_runs } from '#tasks/clear_runs.ts'
import { startApi } from '#test/support/api.ts'
import { passTime, readRun, startRuns, storeAutomation, type TestStep } from '#test/support/automation_runs.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { choosePlan } from '#test/support/database/states.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { addOtherDomain, newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t, { BASE_URL: 'https://mail.acme.com', MAIL_TRANSPORT: 'capture' })
const { pool } = world

type Options = {
  account?: TestAccount
  purpose?: 'marketing' | 'transactional'
  payload?: object
  contact?: object
}

let people = 0

/** Creates a run of a new contact and advances it once. */
async function run(t: Test, steps: (domain: string) => TestStep[], options: Options = {}) {
  const { purpose = 'marketing', payload = {}, contact = {} } = options
  const account = options.account ?? (await newAccount(world))
  const [contact_id] = (await addContacts(world, account, [{ email: `p${++people}@b.com`, ...contact }])) as [string]
  const automation_id = await storeAutomation(world, account, steps(account.domain), { purpose })
  const [id] = (await startRuns(world, account, automation_id, [contact_id], payload)) as [string]
  const work = openWork(t, world, 'capture')
  await work.automations.advance()
  const emails = async () =>
    (await pool.pg.query('SELECT * FROM emails WHERE automation_id = $1 ORDER BY id', [automation_id])).rows
  return { account, contact_id, automation_id, id, work, emails, read: () => readRun(world, id) }
}

/** The number of emails that count for the quotas of an account. */
async function readUsed(account: TestAccount): Promise<number> {
  const { rows } = await pool.pg.query('SELECT sum(emails)::int AS used FROM usage_minutes WHERE account_id = $1', [
    account.id,
  ])
  return rows[0].used
}

const send = (domain: string, more: object = {}, key = 'send'): TestStep => ({
  ...{ key, type: 'send_email' },
  config: { from: `Acme <hi@${domain}>`, subject: 'Hello', html: '<p>Hello {{first_name|you}}</p>', ...more },
})

/** Sends the emails of an account; returns their deliveries with the captured messages. */
async function deliver({
  work,
  emails,
}: {
  work: ReturnType<typeof openWork>
  emails: () => Promise<{ id: string }[]>
}) {
  const ids = (await emails()).map(({ id }) => id)
  await work.sender.offer(ids)
  await work.sender.idle()
  const { rows } = await pool.pg.query(
    `SELECT d.state, d.reason, convert_from(m.message, 'UTF8') AS message FROM deliveries d
     LEFT JOIN captured_messages m ON m.delivery_id = d.id WHERE d.email_id = ANY ($1) ORDER BY d.email_id`,
    [ids],
  )
  return rows
}

t.test('an email of a marketing automation has an unsubscribe footer and headers', async t => {
  const sent = await run(t, domain => [send(domain)], { contact: { first_name: 'Ann' } })
  const [email] = await sent.emails()
  shows(t, email, { contact_id: sent.contact_id, automation_id: sent.automation_id, subject: 'Hello' })
  const [{ state, message }] = await deliver(sent)
  t.equal(state, 'delivered')
  const { text, headers } = await PostalMime.parse(message)
  t.match(text, /^Hello Ann\s+Unsubscribe <https:\/\/mail\.acme\.com\/u\/\S+>/)
  const oneClick = headers.find(({ key }) => key === 'list-unsubscribe-post')
  t.equal(oneClick?.value, 'List-Unsubscribe=One-Click')
  const api = await startApi(t, world, sent.account.key)
  const { body } = await api.request('GET', '/api/emails?folder=automations')
  shows(t, body.data, [{ id: email.id, automation_id: sent.automation_id, contact_id: sent.contact_id }])
  t.strictSame((await api.request('GET', '/api/emails?folder=transactional')).body.data, [])
})

t.test('an email in doubt is sent once more automatically', async t => {
  const sent = await run(t, domain => [send(domain)], { contact: { email: 'drop-post-dot@b.com' } })
  const sink = await openSink(t)
  const work = openWork(t, world, sink.url)
  await work.sender.offer((await sent.emails()).map(({ id }) => id))
  await work.sender.idle()
  const query = `SELECT state, next_at > now() AS is_due_later FROM deliveries WHERE account_id = $1`
  shows(t, (await pool.pg.query(query, [sent.account.id])).rows, [{ state: 'in_doubt', is_due_later: true }])
})

t.test('an email of a transactional automation has no unsubscribe footer or headers', async t => {
  const contact = { unsubscribed: true }
  const sent = await run(t, domain => [send(domain)], { purpose: 'transactional', contact })
  const [{ state, message }] = await deliver(sent)
  t.equal(state, 'delivered', 'though the contact has unsubscribed')
  t.notMatch(message, /unsubscribe/i)
})

t.test('a template is filled with values of the event, the contact and the step', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const template = {
    ...{ name: 'Plan', from: `Acme <hi@${account.domain}>`, subject: '{{plan}} for {{FIRST_NAME}}' },
    html: '<p>{{plan}} {{color}} {{size}} {{event.seats|1}} {{none}}</p>',
    variables: [{ key: 'size', type: 'string', fallback_value: 'L' }],
  }
  const { body } = await api.request('POST', '/api/templates', { body: template })
  await api.request('POST', `/api/templates/${body.id}/publish`, {})
  const variables = { plan: { var: 'event.plan' }, color: 'red', missing: { var: 'event.missing' } }
  const steps = () => [{ type: 'send_email', config: { template: { id: body.id, variables } } }]
  const payload = { plan: 'Pro', seats: 3 }
  const sent = await run(t, steps, { account, payload, contact: { first_name: 'Ann' } })
  shows(t, await sent.read(), { status: 'completed', error: null })
  const [email] = await sent.emails()
  shows(t, email, { subject: 'Pro for Ann', template_id: body.id })
  const shown = await api.request('GET', `/api/emails/${email.id}`)
  const footer = '<p style="margin:24px 0;font:12px/1.5 sans-serif;color:#666;text-align:center">'
  const link = '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>'
  shows(t, shown.body, { html: `<p>Pro red L 3 </p>${footer}${link}`, automation_id: sent.automation_id })

  // Enabled automations keep the templates they were enabled with.
  await pool.pg.query(`UPDATE automations SET status = 'disabled' WHERE id = $1`, [sent.automation_id])
  t.equal((await api.request('DELETE', `/api/templates/${body.id}`)).status, 200)
  const failed = await run(t, steps, { account })
  shows(t, await failed.read(), { status: 'failed', error: 'not_found: The template was deleted.' })
})

t.test('a step can replace the sender, subject and Reply-To of its template, which must be published', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const [theirs, own] = ['template', 'step'].map(name => ({
    ...{ from: `${name}@${account.domain}`, subject: `of the ${name}`, reply_to: [`${name}@reply.com`] },
  }))
  const { body } = await api.request('POST', '/api/templates', { body: { ...theirs, name: 'T', html: '<p>Hi</p>' } })
  const sendAs = (more: object) =>
    run(t, () => [{ type: 'send_email', config: { template: { id: body.id }, ...more } }], { account })
  const error = 'validation_error: The template is not published.'
  shows(t, await (await sendAs({})).read(), { status: 'failed', error })
  await api.request('POST', `/api/templates/${body.id}/publish`, {})
  for (const [more, expected] of [
    [{}, theirs],
    [own, own],
  ] as const) {
    const [email] = await (await sendAs(more as object)).emails()
    const shown = await api.request('GET', `/api/emails/${email.id}`)
    shows(t, shown.body, expected as object)
  }
})

t.test('marketing mail has the postal address of its domain, or else of its account', async t => {
  const account = await newAccount(world)
  const other = await addOtherDomain(world, account)
  await pool.pg.query(`UPDATE accounts SET postal_address = 'Account Street 1' WHERE id = $1`, [account.id])
  await pool.pg.query(`UPDATE domains SET postal_address = 'Domain Road 2' WHERE id = $1`, [other.id])
  for (const [domain_id, domain, address] of [
    [account.domain_id, account.domain, 'Account Street 1'],
    [other.id, other.name, 'Domain Road 2'],
  ] as const) {
    const sent = await run(t, () => [send(domain)], { account: { ...account, domain_id } })
    const [{ message }] = await deliver(sent)
    const { text = '' } = await PostalMime.parse(message)
    t.strictSame(text.match(/\w+ (Street|Road) \d/g), [address])
  }
})

t.test('runs of one step share its content', async t => {
  const account = await newAccount(world)
  const automation = await storeAutomation(world, account, [send(account.domain)])
  const contacts = await addContacts(world, account, ['a@b.com', 'b@b.com', 'c@b.com'])
  await startRuns(world, account, automation, contacts)
  await openWork(t, world, 'capture').automations.advance()
  const query = `SELECT count(*)::int AS emails, count(DISTINCT c.content_id)::int AS contents, count(c.html)::int AS own
    FROM emails e JOIN email_contents c ON c.account_id = e.account_id AND c.email_id = e.id WHERE e.automation_id = $1`
  t.strictSame((await pool.pg.query(query, [automation])).rows, [{ emails: 3, contents: 1, own: 0 }])
})

t.test('a contact that may not be mailed is skipped, and its run continues', async t => {
  const account = await newAccount(world)
  const topic_id = await makeTopic(world, account, { name: 'Private', default_subscription: 'opt_out' })
  const api = await startApi(t, world, account.key)
  await api.request('POST', '/api/suppressions', { body: { email: 'blocked@b.com' } })
  const mark: TestStep = { key: 'mark', type: 'contact_update', config: { last_name: 'done' } }
  const cases = [
    { contact: { unsubscribed: true }, more: {}, reason: 'unsubscribed' },
    { contact: { email: 'blocked@b.com' }, more: {}, reason: 'suppressed' },
    { contact: {}, more: { topic_id }, reason: 'suppressed_or_not_subscribed_to_topic' },
    { contact: {}, more: { topic_id: newId() }, reason: 'not_subscribed_to_topic' },
    { contact: { email: 'x@example.com' }, more: {}, reason: 'reserved_domain' },
  ]
  for (const { contact, more, reason } of cases) {
    const skipped = await run(t, domain => [send(domain, more), mark], { account, contact })
    shows(t, await skipped.read(), {
      status: 'skipped',
      steps: [
        { seq: 1, status: 'skipped', output: { reason }, error: null },
        { seq: 2, status: 'completed' },
      ],
    })
  }
  const update: TestStep = { key: 'back', type: 'contact_update', config: { unsubscribed: false } }
  const two = (domain: string) => [send(domain), update, send(domain, {}, 'again')]
  const sent = await run(t, two, { account, contact: { unsubscribed: true } })
  shows(t, await sent.read(), { status: 'completed', has_sent: true, has_skipped: true })
})

t.test('a run that waited after its emails ends as completed if one was sent, else as skipped', async t => {
  const delay: TestStep = { type: 'delay', config: { duration: '1 hour' } }
  for (const [contact, state] of [
    [{}, { status: 'completed', has_sent: true, has_skipped: false }],
    [{ unsubscribed: true }, { status: 'skipped', has_sent: false, has_skipped: true }],
  ] as const) {
    const waiting = await run(t, domain => [send(domain), delay], { contact })
    await passTime(world, waiting.id, '1 hour')
    await waiting.work.automations.advance()
    shows(t, await waiting.read(), state)
  }
})

t.test('a temporarily refused email is retried for three days', async t => {
  const account = await newAccount(world)
  const pause = (at: string) => pool.pg.query(`UPDATE accounts SET paused_at = ${at} WHERE id = $1`, [account.id])
  await pause('now()')
  const paused = await run(t, domain => [send(domain)], { account })
  const error = /^reputation_paused: Sending is paused for this account/
  const waiting = await paused.read()
  shows(t, waiting, { status: 'running', seq: 1, steps: [{ seq: 1, status: 'waiting', output: null }] })
  t.match(waiting.steps[0].error, error)
  await passTime(world, paused.id, '1 minute')
  await pause('NULL')
  await paused.work.automations.advance()
  shows(t, await paused.read(), { status: 'completed', steps: [{ seq: 1, status: 'completed', error: null }] })
  t.equal((await paused.emails()).length, 1)

  await pause('now()')
  const given_up = await run(t, domain => [send(domain)], { account })
  await passTime(world, given_up.id, '72 hours')
  await given_up.work.automations.advance()
  const failed = await given_up.read()
  shows(t, failed, { status: 'failed', steps: [{ seq: 1, status: 'failed' }] })
  t.match(failed.error, error)
})

t.test('a permanently refused email fails the run', async t => {
  const other = await newAccount(world)
  const foreign = await run(t, () => [send(other.domain)])
  const { error } = await foreign.read()
  t.match(error, /^validation_error: The .* domain is not verified/)
  const bare = await run(t, domain => [send(domain, { subject: null })])
  shows(t, await bare.read(), {
    status: 'failed',
    error: 'missing_required_field: The email has no `subject`, and its template has none either.',
  })
})

t.test('a contact who unsubscribes before the claim gets no email', async t => {
  const [left, deleted, kept] = [
    await run(t, domain => [send(domain)]),
    await run(t, domain => [send(domain)]),
    await run(t, domain => [send(domain)], { purpose: 'transactional' }),
  ]
  await pool.pg.query('UPDATE contacts SET unsubscribed = true WHERE id = ANY ($1)', [
    [left.contact_id, kept.contact_id],
  ])
  await pool.pg.query('DELETE FROM contacts WHERE id = $1', [deleted.contact_id])
  const suppressed = { state: 'suppressed', reason: 'The recipient has unsubscribed.' }
  shows(t, await deliver(left), [suppressed])
  shows(t, await deliver(deleted), [suppressed])
  shows(t, await deliver(kept), [{ state: 'delivered', reason: null }])
})

t.test('emails of a stopped or deleted automation are canceled', async t => {
  const canceled = { state: 'canceled', reason: 'The automation was stopped.' }
  for (const stop of ['UPDATE automations SET stopped_version = 1', 'DELETE FROM automations']) {
    const account = await newAccount(world)
    await choosePlan(world, account, 'free')
    const sent = await run(t, domain => [send(domain)], { account })
    t.equal(await readUsed(sent.account), 1)
    await pool.pg.query(`${stop} WHERE id = $1`, [sent.automation_id])
    shows(t, await deliver(sent), [canceled])
    shows(t, await sent.emails(), [{ status: 'canceled', last_event: 'canceled', quota_debit: 0 }])
    t.equal(await readUsed(sent.account), 0, 'it is refunded to the quotas')
  }
  const simulated = await run(t, domain => [send(domain)], { contact: { email: 'delivered@simulator.internal' } })
  await pool.pg.query('UPDATE automations SET stopped_version = 1 WHERE id = $1', [simulated.automation_id])
  shows(t, await deliver(simulated), [canceled])
  const later = await run(t, domain => [send(domain)])
  await pool.pg.query('UPDATE automations SET stopped_version = 0, version = 2 WHERE id = $1', [later.automation_id])
  shows(t, await deliver(later), [{ state: 'delivered' }])
})

t.test('the emails of a step share one poll until its question changes', async t => {
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  const contacts = await addContacts(world, account, ['ann@b.com', 'bob@b.com'])
  const poll = { question: 'How was it?', options: ['Good', { key: 'so', label: 'So so' }] }
  const { body: automation } = await api.request('POST', '/api/automations', {
    body: {
      ...{ name: 'Survey', status: 'enabled', domain: account.domain },
      steps: [{ key: 'start', type: 'trigger', config: { event_name: 'x' } }, send(account.domain, { poll }, 'ask')],
      connections: [{ from: 'start', to: 'ask' }],
    },
  })
  const work = openWork(t, world, 'capture')
  const enter = async (contact_id = '') => {
    const { status, text } = await api.request('POST', `/api/automations/${automation.id}/run`, {
      body: { contact_id },
    })
    t.equal(status, 202, text)
    await work.automations.advance()
  }
  for (const contact_id of contacts) await enter(contact_id)
  const emails = async () =>
    (await pool.pg.query('SELECT id FROM emails WHERE account_id = $1 ORDER BY id', [account.id])).rows
  const [first] = await deliver({ work, emails })
  const { html = '', text = '' } = await PostalMime.parse(first.message)
  const [good, so, ...others] = [...html.matchAll(/href="https:\/\/mail\.acme\.com(\/p\/[^"]+)"/g)].map(
    found => found[1],
  )
  t.strictSame(others, [])
  t.match(text, /How was it\?/)
  t.match(html, />Unsubscribe<\/a>/)
  await fetch(api.url + good, { method: 'POST', body: new URLSearchParams({ answer: 'good' }) })
  await fetch(api.url + so, { method: 'POST', body: new URLSearchParams({ answer: 'so' }) })

  const list = async () => (await api.request('GET', `/api/polls?automation_id=${automation.id}`)).body.data
  const [listed, ...more] = await list()
  t.strictSame(more, [])
  shows(t, listed, { automation_id: automation.id, step: 'ask', campaign_id: null, email_id: null, responses_count: 1 })
  shows(t, (await api.request('GET', `/api/polls/${(await emails())[1].id}`)).body, {
    ...{ id: listed?.id, subject: 'Hello', sent_count: 2, question: 'How was it?' },
    answers: [
      { key: 'good', label: 'Good', count: 0 },
      { key: 'so', label: 'So so', count: 1 },
    ],
    responses: [{ email: 'ann@b.com', contact_id: contacts[0], answer: 'so' }],
  })

  // Not counted by events, of which a large automation has millions.
  await pool.pg.query('DELETE FROM email_events WHERE account_id = $1', [account.id])
  shows(t, (await api.request('GET', `/api/polls/${listed?.id}`)).body, { sent_count: 2 })
  for (const { id } of (await emails()).slice(0, 2)) {
    t.equal(await forgetSettledEmails(pool, account.id, [id]), 1)
    shows(t, (await api.request('GET', `/api/polls/${listed?.id}`)).body, { sent_count: 2, responses_count: 1 })
  }

  const config = send(account.domain, { poll: { ...poll, question: 'And now?' } }).config
  const changed = await api.request('PATCH', `/api/automations/${automation.id}/steps/ask`, { body: { config } })
  t.equal(changed.status, 200, changed.text)
  const [joiner] = await addContacts(world, account, ['joiner@b.com'])
  await enter(joiner)
  shows(t, await list(), [
    { question: 'And now?', responses_count: 0 },
    { question: 'How was it?', responses_count: 1 },
  ])

  t.equal((await api.request('POST', `/api/automations/${automation.id}/stop`)).status, 200)
  t.equal((await api.request('DELETE', `/api/automations/${automation.id}`)).status, 200)
  t.strictSame(await list(), [], 'at once')
  for (const id of [listed?.id, (await emails())[1].id]) {
    shows(t, await api.request('GET', `/api/polls/${id}`), { status: 404, body: { message: 'Poll not found' } })
  }
  await clear_runs({}, work)
  t.strictSame(await list(), [])
  t.equal((await fetch(api.url + good)).status, 404)
})

t.test('links to poll options create a poll, and must be options of a given one', async t => {
  const html = '<a href="{{poll_url:yes}}">Yes</a> <a href="{{poll_url:no}}">No</a>'
  const sent = await run(t, domain => [send(domain, { html })])
  const api = await startApi(t, world, sent.account.key)
  const { data } = (await api.request('GET', `/api/polls?automation_id=${sent.automation_id}`)).body
  shows(t, data, [{ question: 'Hello', step: 'send' }])
  const poll = { question: 'Well?', options: ['Yes', 'Maybe'] }
  const { status, body } = await api.request('POST', '/api/automations', {
    body: {
      ...{ name: 'Survey', status: 'enabled', domain: sent.account.domain },
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'x' } },
        send(sent.account.domain, { html, poll }, 'ask'),
      ],
      connections: [{ from: 'start', to: 'ask' }],
    },
  })
  t.strictSame(
    [status, body.message],
    [422, 'Step `ask`: The poll has no option for `{{poll_url:no}}`; its keys are "yes", "maybe".'],
  )
})

t.test('a long subject is cut between two characters', async t => {
  const subject = '{{event.title}}'
  const sent = await run(t, domain => [send(domain, { subject })], { payload: { title: `a${'😀'.repeat(600)}` } })
  shows(t, await sent.read(), { status: 'completed' })
  shows(t, await sent.emails(), [{ subject: `a${'😀'.repeat(498)}` }])
})

t.test('an email waits while its domain may not send', async t => {
  const account = await newAccount(world)
  const set = (status: string) =>
    pool.pg.query('UPDATE domains SET status = $2 WHERE id = $1', [account.domain_id, status])
  await set('failed')
  const sent = await run(t, domain => [send(domain)], { account })
  const { status, steps } = await sent.read()
  t.equal(status, 'running')
  t.match(steps[0].error, /^validation_error: The .* domain is not verified: its status is `failed`/)
  await set('verified')
  await passTime(world, sent.id, '1 minute')
  await sent.work.automations.advance()
  shows(t, await sent.read(), { status: 'completed', steps: [{ seq: 1, status: 'completed' }] })
})
