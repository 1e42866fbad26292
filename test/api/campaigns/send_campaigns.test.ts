import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { addContacts, createDraft } from '#test/support/campaigns.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
await addContacts(world, account, ['ada@b.com', 'bob@b.com'])

const send = (id: string, body: object = {}) => api.request('POST', `/api/campaigns/${id}/send`, { body })
const get = async (id: string) => (await api.request('GET', `/api/campaigns/${id}`)).body

const readRows = async (text: string, values: unknown[]) => (await world.pool.pg.query(text, values)).rows

t.test('POST /campaigns/:id/send queues a draft with its content, its run and one job', async t => {
  const id = await createDraft(api, account)
  const { status, body } = await send(id)
  t.equal(status, 200)
  shows(t, body, { object: 'campaign', id, status: 'queued', scheduled_at: null })
  const found = await get(id)
  shows(t, found, { status: 'queued', recipients_count: 0, sent_at: null, scheduled_at: null })
  const [row] = await readRows(
    `SELECT c.html, c.text, r.run, r.cursor FROM campaigns g
     JOIN contents c ON c.account_id = g.account_id AND c.id = g.content_id
     JOIN campaign_runs r ON r.account_id = g.account_id AND r.campaign_id = g.id WHERE g.id = $1`,
    [id],
  )
  shows(t, row, { text: null, run: 1, cursor: null })
  t.match(row, { html: /^<p>Hello {{first_name\|friend}}<\/p><p .*{{{UNSUBSCRIBE_URL}}}/ })
  const jobs = await readRows(
    `SELECT t.identifier, j.payload FROM graphile_worker._private_jobs j
     JOIN graphile_worker._private_tasks t ON t.id = j.task_id WHERE j.key = $1`,
    [`send_campaign ${id}`],
  )
  shows(t, jobs, [{ identifier: 'send_campaign', payload: { account_id: account.id, campaign_id: id } }])
})

t.test('links of a campaign are listed with their placeholders', async t => {
  const html =
    '{{first_name|friend}} <a href="https://acme.com/{{first_name}}">x</a> <a href="https://acme.com/{{ id|1 }}">y</a>'
  const id = await createDraft(api, account, { html })
  await send(id)
  const { body } = await api.request('GET', `/api/broadcasts/${id}/clicked-links`)
  shows(t, body.data, [{ url: 'https://acme.com/{{first_name}}' }, { url: 'https://acme.com/{{ id|1 }}' }])
})

t.test('concurrent POST /campaigns/:id/send send a campaign once', async t => {
  const id = await createDraft(api, account)
  const answers = await Promise.all(Array.from({ length: 8 }, () => send(id)))
  const statuses = answers.map(({ status }) => status).sort()
  t.strictSame(statuses, [200, ...Array(7).fill(422)])
  shows(t, await readRows('SELECT run FROM campaign_runs WHERE campaign_id = $1', [id]), [{ run: 1 }])
})

t.test('POST /campaigns/:id/send with the same Idempotency-Key replays the response', async t => {
  const id = await createDraft(api, account)
  const headers = { 'idempotency-key': 'march' }
  const ask = (body: object) => api.request('POST', `/api/campaigns/${id}/send`, { body, headers })
  const refused = await ask({ expected_recipients: 50 })
  t.equal(refused.status, 422, 'which binds no key')
  const first = await ask({})
  shows(t, first, { status: 200, body: { id, status: 'queued' } })
  t.notOk(first.headers.has('idempotent-replayed'))
  const again = await ask({})
  t.strictSame([again.status, again.text], [200, first.text])
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  shows(t, await ask({ expected_recipients: 2 }), { status: 409, body: { name: 'invalid_idempotent_request' } })
  const other = await createDraft(api, account)
  shows(t, await api.request('POST', `/api/campaigns/${other}/send`, { headers }), { status: 200, body: { id: other } })
})

t.test('concurrent POST /campaigns with the same Idempotency-Key make one campaign', async t => {
  const body = { from: `News <news@${account.domain}>`, subject: 'Once', html: '<p>Hello</p>', send: true }
  const given = { ...body, audience_id: account.domain_id }
  const ask = (path: string, fields: object = given) =>
    api.request('POST', path, { body: fields, headers: { 'idempotency-key': 'once' } })
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask('/api/campaigns')))
  const made = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ status }) => status !== 201)
  for (const { body, headers } of refused) {
    shows(t, body, { name: 'concurrent_idempotent_requests', statusCode: 409 })
    t.equal(headers.get('retry-after'), '1')
  }
  const again = await ask('/api/broadcasts')
  t.strictSame([...new Set([...made, again].map(({ text }) => text))], [again.text])
  shows(t, again, { status: 201, body: { status: 'queued', subject: 'Once' } })
  shows(t, await ask('/api/campaigns', { ...given, subject: 'Twice' }), { status: 409 })
  shows(t, await readRows(`SELECT subject FROM campaigns WHERE subject IN ('Once', 'Twice')`, []), [
    { subject: 'Once' },
  ])
})
