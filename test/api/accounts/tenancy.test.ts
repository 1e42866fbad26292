import t from 'tap'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { addRuns } from '#test/support/automation_definitions.ts'
import { suppress } from '#test/support/database/states.ts'
import { POLL } from '#test/support/polls.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { addWebhook } from '#test/support/webhooks/add_webhook.ts'
import { newAccount, openWorld, type TestAccount } from '#test/support/world.ts'

const world = await openWorld(t)
const mine = await newAccount(world)
const theirs = await newAccount(world)
// Requests that name no domain use this domain.
await world.pool.pg.query(
  'UPDATE api_keys k SET default_domain_id = d.id FROM domains d WHERE d.account_id = k.account_id',
)
const api = await startApi(t, world, mine.key)

const endpoint = 'https://hook.acme.com/'
const { id: theirWebhook } = await addWebhook(world, theirs.id, { endpoint, events: ['*'] })
const { id: mineWebhook } = await addWebhook(world, mine.id, { endpoint, events: ['*'] })

// Their emails (one sent, with events and a captured message; others waiting) are between two of mine.
const attachments = [{ filename: 'x', content: 'eA==' }]
const mineWithFile = await acceptEmail(world, mine, { attachments })
const sent = await acceptEmail(world, theirs)
const work = openWork(t, world, 'capture')
await deliverEmails(work, [sent])
const waiting = await acceptEmail(world, theirs, { cc: ['x@example.com'] })
const scheduled = await acceptEmail(world, theirs, { scheduled_at: 'in 2 hours' })
const withFile = await acceptEmail(world, theirs, { attachments })
const unknown = newId() // made at the same moment: as a cursor it is the same position
await acceptEmail(world, mine)

const mail = await compose({ attachments, text: 'x' })
const received = await receive(work, theirs, mail)
const mineReceived = await receive(work, mine, mail)

const ofTheirs = await makeTemplate(theirs, 'theirs')
await makeTemplate(mine, 'mine')

const theirAddress = { id: newId(), email: 'theirs@b.com' }
for (const { account_id, id, email } of [
  { account_id: theirs.id, ...theirAddress },
  { account_id: mine.id, id: newId(), email: 'mine@b.com' },
]) {
  await world.pool.pg.query(`INSERT INTO suppressions VALUES ($1, $2, $3, 'manual')`, [account_id, id, email])
}

const { rows: keys } = await world.pool.pg.query('SELECT id FROM api_keys WHERE account_id = $1', [theirs.id])
const { rows: receivedFiles } = await world.pool.pg.query('SELECT id FROM received_attachments WHERE account_id = $1', [
  theirs.id,
])
const { rows: files } = await world.pool.pg.query('SELECT id FROM attachments WHERE email_id = $1', [withFile])
const logs = []
for (const { id } of [theirs, mine]) {
  const { rows } = await world.pool.pg.query(
    `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent)
     VALUES ($1::uuid, now(), 'GET', '/' || $1::uuid, 200, 'test') RETURNING id`,
    [id],
  )
  logs.push(String(rows[0].id))
}
await world.pool.pg.query(
  `INSERT INTO domain_claims (account_id, domain_id, id, token) VALUES ($1, $2, gen_random_uuid(), 'secret')`,
  [theirs.id, theirs.domain_id],
)
const { rows: events } = await world.pool.pg.query('SELECT id FROM webhook_events WHERE account_id = $1', [theirs.id])
const { rows: deliveries } = await world.pool.pg.query('SELECT id FROM deliveries WHERE email_id = $1', [sent])

const [ofMe, ofThem] = [await makeContact(mine), await makeContact(theirs)]

/** Their ids for each route with an id in its path. New routes must be added here. */
const foreignIds: Record<string, string[]> = {
  'GET /emails/:id': [sent, waiting, deliveries[0].id],
  'PATCH /emails/:id': [sent, scheduled],
  'POST /emails/:id/cancel': [sent, scheduled],
  'POST /emails/:id/retry': [sent, scheduled],
  'POST /emails/:id/release': [sent, scheduled],
  'POST /emails/:id/drop': [sent, scheduled],
  'POST /emails/:id/try-now': [sent, scheduled],
  'GET /emails/:id/attachments': [withFile],
  'GET /emails/:id/attachments/:attachment_id': [withFile],
  'GET /emails/:id/attachments/:attachment_id/content': [withFile],
  'GET /emails/receiving/:id': [received, sent],
  'PATCH /emails/receiving/:id': [received, sent],
  'DELETE /emails/receiving/:id': [received, sent],
  'GET /emails/receiving/:id/raw': [received],
  'GET /emails/receiving/:id/attachments': [received, withFile],
  'GET /emails/receiving/:id/attachments/:attachment_id': [received, withFile],
  'POST /emails/receiving/:id/reply': [received, sent],
  'POST /emails/receiving/:id/forward': [received, sent],
  'GET /domains/:id/claim': [theirs.domain_id],
  'POST /domains/:id/claim/verify': [theirs.domain_id],
  'GET /domains/:id': [theirs.domain_id],
  'PATCH /domains/:id': [theirs.domain_id],
  'DELETE /domains/:id': [theirs.domain_id],
  'GET /domains/:id/dns': [theirs.domain_id],
  'GET /domains/:id/dns/export': [theirs.domain_id],
  'POST /domains/:id/dns/cloudflare': [theirs.domain_id],
  'POST /domains/:id/dns/godaddy': [theirs.domain_id],
  'POST /domains/:id/dns/namecheap': [theirs.domain_id],
  'POST /domains/:id/verify': [theirs.domain_id],
  'POST /domains/:id/dkim/rotate': [theirs.domain_id],
  'GET /suppressions/:id': [theirAddress.id, theirAddress.email],
  'DELETE /suppressions/:id': [theirAddress.id, theirAddress.email],
  'GET /contact-properties/:id': [ofThem.property],
  'PATCH /contact-properties/:id': [ofThem.property],
  'DELETE /contact-properties/:id': [ofThem.property],
  'GET /contacts/imports/:id': [ofThem.imported],
  'GET /contacts/imports/:id/errors': [ofThem.imported],
  'GET /contacts/:id': [ofThem.contact],
  'PATCH /contacts/:id': [ofThem.contact],
  'DELETE /contacts/:id': [ofThem.contact],
  'GET /contacts/:id/segments': [ofThem.contact],
  'POST /contacts/:id/segments/:segment_id': [ofThem.contact],
  'DELETE /contacts/:id/segments/:segment_id': [ofThem.contact],
  'GET /segments/:id': [theirs.domain_id, ofThem.segment],
  'PATCH /segments/:id': [theirs.domain_id, ofThem.segment],
  'DELETE /segments/:id': [theirs.domain_id, ofThem.segment],
  'GET /segments/:id/contacts': [theirs.domain_id, ofThem.segment, ofThem.audience],
  'GET /contacts/:id/topics': [ofThem.contact],
  'PATCH /contacts/:id/topics': [ofThem.contact],
  'GET /topics/:id': [ofThem.topic],
  'PATCH /topics/:id': [ofThem.topic],
  'DELETE /topics/:id': [ofThem.topic],
  'GET /events/:id': [ofThem.event, ofThem.event_name],
  'GET /events/:id/recent': [ofThem.event, ofThem.event_name],
  'PATCH /events/:id': [ofThem.event, ofThem.event_name],
  'DELETE /events/:id': [ofThem.event, ofThem.event_name],
  ...campaignRoutes(),
  'GET /polls/:id': [ofThem.polled, ofThem.poll],
  ...automationRoutes(),
  'GET /audiences/:id': [theirs.domain_id, ofThem.audience],
  'PATCH /audiences/:id': [theirs.domain_id, ofThem.audience],
  'DELETE /audiences/:id': [theirs.domain_id, ofThem.audience],
  'POST /audiences/:audience_id/contacts': [ofThem.audience],
  'POST /audiences/:audience_id/contacts/batch': [ofThem.audience],
  'POST /audiences/:audience_id/contacts/import': [ofThem.audience],
  'GET /audiences/:audience_id/contacts': [ofThem.audience],
  'GET /audiences/:audience_id/contacts/:id': [ofThem.contact, ofThem.email],
  'PATCH /audiences/:audience_id/contacts/:id': [ofThem.contact, ofThem.email],
  'DELETE /audiences/:audience_id/contacts/:id': [ofThem.contact, ofThem.email],
  'GET /templates/:id': [ofTheirs, 'theirs'],
  'PATCH /templates/:id': [ofTheirs, 'theirs'],
  'DELETE /templates/:id': [ofTheirs, 'theirs'],
  'POST /templates/:id/publish': [ofTheirs, 'theirs'],
  'POST /templates/:id/render': [ofTheirs, 'theirs'],
  'POST /templates/:id/duplicate': [ofTheirs, 'theirs'],
  'GET /webhooks/:id': [theirWebhook],
  'PATCH /webhooks/:id': [theirWebhook],
  'DELETE /webhooks/:id': [theirWebhook],
  'POST /webhooks/:id/signing-secret/rotate': [theirWebhook],
  'POST /webhooks/:id/rotate': [theirWebhook],
  'POST /webhooks/:id/test': [theirWebhook],
  'GET /webhooks/:id/events': [theirWebhook],
  'GET /webhooks/:id/events/:event_id': [theirWebhook],
  'GET /webhooks/:id/events/:event_id/attempts': [theirWebhook],
  'POST /webhooks/:id/events/:event_id/replay': [theirWebhook],
  'POST /webhooks/:id/replay': [theirWebhook],
  'GET /logs/:id': logs.slice(0, 1),
}

/** Routes of campaigns, also as /broadcasts, their name in the resend package. */
function campaignRoutes(): Record<string, string[]> {
  const routes = [
    ...['GET ', 'PATCH ', 'DELETE ', 'POST /send', 'POST /cancel', 'POST /duplicate', 'GET /recipients'],
    ...['GET /clicked-links', 'POST /pause', 'POST /resume', 'POST /retry', 'POST /test', 'GET /recipients/preview'],
    ...['GET /stats', 'GET /engagement', 'POST /in-doubt', 'GET /ab', 'POST /ab/winner', 'GET /runs'],
  ].flatMap(route => ['campaigns', 'broadcasts'].map(name => route.replace(' ', ` /${name}/:id`)))
  return Object.fromEntries(routes.map(route => [route, [ofThem.campaign, theirs.domain_id]]))
}

function automationRoutes(): Record<string, string[]> {
  const routes = ['GET ', 'PATCH ', 'DELETE ', 'POST /stop', 'POST /duplicate', 'GET /runs', 'POST /steps', 'POST /run']
  const parts = ['PATCH /steps/:step_id', 'DELETE /steps/:step_id', 'GET /runs/:run_id']
  return Object.fromEntries(
    [...routes, ...parts].map(route => [route.replace(' ', ' /automations/:id'), [ofThem.automation]]),
  )
}

/** Routes of the dashboard are tested by a member in test/api/members/members.test.ts. */
const routes = routesOf(operations).filter(({ access }) => access !== 'dashboard')

/** GET routes without an id in the path that return no list. */
const NO_LISTS = ['/domains/mx-check', '/usage', '/emails/metrics', '/contacts/export', '/suppressions/export']

const lists = routes
  .filter(({ method, path }) => method === 'GET' && !path.includes(':') && !NO_LISTS.includes(path))
  .map(({ path }) => path)

t.test('every route with an id in its path is listed here', async t => {
  const withId = routes.filter(({ path }) => path.includes(':')).map(({ method, path }) => `${method} ${path}`)
  t.strictSame(Object.keys(foreignIds).sort(), withId.sort())
})

async function request(method: string, path: string) {
  const { status, text } = await api.request(method, `/api${path}`, method === 'GET' ? {} : { body: {} })
  return { status, text }
}

// This test runs first: later requests write foreign ids into the request log.
t.test('a list shows nothing of another account', async t => {
  for (const path of lists) {
    const { text } = await request('GET', path)
    t.match(text, /"data":\[\{/)
    for (const id of [
      theirs.id,
      theirs.domain,
      theirs.domain_id,
      sent,
      received,
      waiting,
      keys[0].id,
      ofTheirs,
      theirAddress.id,
      ...Object.values(ofThem),
    ]) {
      t.notMatch(text, id, path)
    }
  }
})

t.test('a foreign id gets the response of an unknown id, changing nothing', async t => {
  const before = await checksum(theirs.id)
  for (const [route, ids] of Object.entries(foreignIds)) {
    const [method = '', path = ''] = route.split(' ')
    const [ofMine, part] = withParts(path)
    const ask = (id: string, another = part) => request(method, path.replace(':id', id).replace(/:\w+_id/, another))
    const answer = await ask(unknown, unknown)
    t.match(answer.status, /^40[34]$/)
    for (const id of ids) {
      t.strictSame(await ask(id), answer, `${route} ${id}`)
      t.strictSame(await ask(id.toUpperCase()), answer, `${route} ${id}`)
    }
    if (!/:\w+_id/.test(path)) continue
    t.strictSame(await ask(ofMine), await ask(ofMine, unknown), `${route} of mine`)
  }
  t.equal(await checksum(theirs.id), before)
})

/** An id of mine, and the id of a part (a file, a run, a step) that is theirs. */
function withParts(path: string): [string, string] {
  if (path.includes('/audiences/')) return [ofMe.contact, ofThem.audience]
  if (path.includes('/runs/')) return [ofMe.automation, ofThem.run]
  if (path.includes('/steps/')) return [ofMe.automation, ofThem.step]
  if (path.includes('/segments/')) return [ofMe.contact, ofThem.segment]
  if (path.includes('/webhooks/')) return [mineWebhook, events[0].id]
  return path.includes('/receiving/') ? [mineReceived, receivedFiles[0].id] : [mineWithFile, files[0].id]
}

t.test('a foreign id works as a cursor like an unknown one', async t => {
  for (const path of lists) {
    for (const cursor of ['after', 'before']) {
      t.strictSame(
        await request('GET', `${path}?${cursor}=${waiting}`),
        await request('GET', `${path}?${cursor}=${unknown}`),
      )
    }
  }
})

t.test('sending from a foreign domain fails like from an unknown one', async t => {
  const answers = []
  for (const domain of [theirs.domain, 'nobody-has-this.com']) {
    const body = { from: `a@${domain}`, to: 'b@b.com', subject: 'Hi' }
    const { status, text } = await api.request('POST', '/api/emails', { body })
    answers.push({ status, text: text.replace(domain, 'DOMAIN') })
  }
  t.match(answers[0], { status: 422 })
  t.strictSame(answers[0], answers[1])
})

t.test('another account’s template is not found, and its alias can be used for mine', async t => {
  const before = await checksum(theirs.id)
  const answers = []
  for (const ref of [unknown, ofTheirs, ofTheirs.toUpperCase(), 'theirs']) {
    for (const fields of [{ template_id: ref }, { template: { id: ref } }]) {
      const body = { from: `a@${mine.domain}`, to: 'b@b.com', subject: 'Hi', ...fields }
      answers.push(await api.request('POST', '/api/emails', { body }))
    }
  }
  for (const { status, text } of answers) t.strictSame([status, text], [404, answers[0]?.text])
  await makeTemplate(mine, 'theirs')
  t.equal(await checksum(theirs.id), before)
})

t.test('another account’s suppression list drops nothing of mine', async t => {
  await suppress(world, theirs.id, 'b@b.com')
  const send = (key: string, domain: string) =>
    api.request('POST', '/api/emails', { key, body: { from: `a@${domain}`, to: 'b@b.com', subject: 'Hi' } })
  t.match(await send(mine.key, mine.domain), { status: 200 })
  t.match(await send(theirs.key, theirs.domain), { status: 422 })
})

async function domainOf(domain_id: string): Promise<string> {
  const { rows } = await world.pool.pg.query('SELECT name FROM domains WHERE id = $1', [domain_id])
  return rows[0].name
}

/** Creates a contact in an audience, and one of everything else that belongs to a domain. */
async function makeContact({ id, key, domain_id }: TestAccount) {
  const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { key, body })).body.id
  const audience = await post('/audiences', { name: 'News' })
  const email = `ann@${domain_id.slice(-6)}.com`
  const contact = await post(`/audiences/${audience}/contacts`, { email })
  const segment = await post('/segments', { name: 'Members', domain: domain_id, filter: { status: 'members_only' } })
  const property = await post('/contact-properties', { key: 'plan', type: 'string' })
  const topic = await post('/topics', { name: 'News', default_subscription: 'opt_in' })
  const imported = await post('/contacts/imports', { csv: 'email\n' })
  const draft = { subject: 'x', html: 'x', audience_id: domain_id }
  const from = `a@${await domainOf(domain_id)}`
  const campaign = await post('/campaigns', { ...draft, from })
  const polled = await post('/emails', { from, to: 'x@b.com', subject: 'x', poll: POLL })
  const poll: string = (await api.request('GET', `/api/polls/${polled}`, { key })).body.id
  const event_name = `event of ${domain_id.slice(-6)}`
  const event = await post('/events', { name: event_name })
  await post('/events/send', { event: event_name, domain: domain_id, contact_id: contact })
  const ofCampaigns = { imported, campaign, polled, poll }
  const made = await makeAutomation({ id, key, domain_id })
  return { property, segment, topic, audience, contact, email, ...ofCampaigns, event, event_name, ...made }
}

async function makeAutomation(account: Pick<TestAccount, 'id' | 'key' | 'domain_id'>) {
  const body = { name: 'Welcome', trigger: 'paid', steps: [{ key: 'gone', type: 'contact_delete' }] }
  const { text } = await api.request('POST', '/api/automations', { key: account.key, body })
  const { id: automation, steps } = JSON.parse(text)
  const [run] = await addRuns(world, account, automation, [{}])
  return { automation, step: steps[1].id as string, run: run as string }
}

async function makeTemplate({ key }: TestAccount, alias: string): Promise<string> {
  const { body } = await api.request('POST', '/api/templates', { key, body: { name: alias, alias, html: 'Hi' } })
  await api.request('POST', `/api/templates/${body.id}/publish`, { key })
  return body.id
}

/** Checksum of all rows of an account, except its request log, which is written with a delay. */
async function checksum(account_id: string): Promise<string> {
  const { pg } = world.pool
  const { rows: tables } = await pg.query(
    `SELECT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'account_id' AND table_name <> 'logs'
     ORDER BY 1`,
  )
  const rows = tables.map(({ name }) => `SELECT '${name}' || t::text AS row FROM "${name}" t WHERE account_id = $1`)
  const sum = `SELECT count(*) || ' ' || md5(string_agg(row, '|' ORDER BY row)) AS sum FROM (${rows.join(' UNION ALL ')})`
  return (await pg.query(sum, [account_id])).rows[0].sum
}
