import t from 'tap'
import { clearRuns } from '#flows/automations/definitions/clear_runs.ts'
import { newId } from '#lib/ids.ts'
import { startRunByHand } from '#sql/events/enter_by_hand.ts'
import type { Tx } from '#sql/pool.ts'
import { startApi } from '#test/support/api.ts'
import { createAutomation } from '#test/support/automation_definitions.ts'
import { runsOf } from '#test/support/automations.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { choosePlan } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const [ada, bob] = (await addContacts(world, account, ['ada@b.com', 'bob@b.com'])) as [string, string]

const run = (id: string, body: object, headers = {}) =>
  api.request('POST', `/api/automations/${id}/run`, { body, headers })
const create = (fields: object = {}) => createAutomation(api, account, { status: 'enabled', ...fields })

t.test('POST /automations/:id/run starts a run for a contact', async t => {
  const id = await create()
  const { status, body } = await run(id, { contact_id: ada, payload: { plan: 'pro' } })
  t.equal(status, 202)
  const [found] = await runsOf(world, id)
  shows(t, body, { object: 'automation_run', id: found?.id, automation_id: id, contact_id: ada, status: 'running' })
  shows(t, found, { contact_email: 'ada@b.com', status: 'running', payload: { plan: 'pro' }, depth: 0, is_due: true })
  const { body: second } = await run(id, { email: 'BOB@b.com' })
  shows(t, second, { contact_id: bob })
  t.equal((await runsOf(world, id)).length, 2)
})

t.test('a run by hand starts no other automation of the same event', async t => {
  const [id, other] = [await create({ trigger: undefined }), await create()]
  await run(id, { contact_id: ada })
  t.strictSame([(await runsOf(world, id)).length, (await runsOf(world, other)).length], [1, 0])
})

t.test('a repeated request with a key starts one run', async t => {
  const id = await create()
  const headers = { 'idempotency-key': 'once' }
  const first = await run(id, { contact_id: ada }, headers)
  const again = await run(id, { contact_id: ada }, headers)
  t.strictSame([again.status, again.body, again.headers.get('idempotent-replayed')], [202, first.body, 'true'])
  shows(t, await run(id, { contact_id: bob }, headers), { status: 409, body: { name: 'invalid_idempotent_request' } })
  t.equal((await runsOf(world, id)).length, 1)
})

t.test('a run that cannot be started is refused', async t => {
  const id = await create()
  const disabled = await create({ status: 'disabled' })
  const other = await newAccount(world)
  const [foreign] = await addContacts(world, other, ['ada@b.com'])
  await api.request('POST', '/api/events', { body: { name: 'paid', schema: { plan: 'string' } } })
  const typed = await create({ steps: undefined, trigger: 'paid', status: 'disabled' })
  for (const [automation, body, status, message] of [
    [disabled, { contact_id: ada }, 422, 'The automation is disabled: enable it first.'],
    [id, {}, 422, 'Missing `contact_id` or `email` field.'],
    [id, { contact_id: ada, email: 'ada@b.com' }, 422, '`email` cannot be combined with `contact_id`.'],
    [id, { contact_id: newId() }, 404, 'Contact not found'],
    [id, { contact_id: foreign }, 404, 'Contact not found'],
    [id, { email: 'nobody@b.com' }, 404, 'Contact not found'],
    [id, { contact_id: ada, payload: 5 }, 422, '`payload` must be an object.'],
    [typed, { contact_id: ada, payload: { plan: 5 } }, 422, '`payload["plan"]` must be a string.'],
    [newId(), { contact_id: ada }, 404, 'Automation not found'],
  ] as const) {
    shows(t, await run(automation, body), { status, body: { message } })
  }
  t.strictSame(await runsOf(world, id), [])
})

t.test('`reentry` and the daily limit apply to runs by hand', async t => {
  const reentry = 'The contact cannot enter the automation again, as its `reentry` says.'
  for (const fields of [{ reentry: 'once' }, { reentry: 'while_not_running' }]) {
    const id = await create(fields)
    await run(id, { contact_id: ada })
    shows(t, await run(id, { contact_id: ada }), { status: 422, body: { message: reentry } })
    const both = await Promise.all([run(id, { contact_id: bob }), run(id, { contact_id: bob })])
    t.strictSame(both.map(({ status }) => status).sort(), [202, 422])
  }
  const id = await create()
  for (let n = 0; n < 10; n++) await run(id, { contact_id: ada })
  const { body } = await run(id, { contact_id: ada })
  t.equal(body.message, 'The contact has entered the automation too often in the last 24 hours.')
})

t.test('runs by hand at once keep to ten runs a day', async t => {
  const id = await create()
  const entry = { account_id: account.id, automation_id: id, contact_id: ada, payload: {} }
  const enter = (count: number) => async (tx: Tx) => {
    for (let n = 0; n < count; n++) await startRunByHand(tx, entry)
  }
  const first = await begin(world, enter(8))
  const second = world.pool.transaction(enter(8))
  await Promise.race([second, untilBlocked(world)])
  await first.commit()
  await second
  t.equal((await runsOf(world, id)).length, 10)
})

t.test('runs by hand count toward the quota', async t => {
  const poor = await newAccount(world)
  await choosePlan(world, poor, 'free')
  await world.pool.pg.query(`INSERT INTO automation_usage VALUES ($1, date_trunc('hour', now()), 999)`, [poor.id])
  const [contact_id] = await addContacts(world, poor, ['ada@b.com'])
  const id = await createAutomation(api, poor, { status: 'enabled' })
  const ask = () => api.request('POST', `/api/automations/${id}/run`, { key: poor.key, body: { contact_id } })
  t.equal((await ask()).status, 202)
  shows(t, await ask(), { status: 429, body: { name: 'automation_quota_exceeded' } })
  t.equal((await runsOf(world, id)).length, 1)
})

for (const [what, end, status] of [
  ['a stop', (id: string) => api.request('POST', `/api/automations/${id}/stop`), 'skipped'],
  [
    'PATCH',
    (id: string) => api.request('PATCH', `/api/automations/${id}`, { body: { status: 'disabled' } }),
    'running',
  ],
] as const) {
  t.test(`${what} waits for a run by hand, and later runs are refused`, async t => {
    const id = await create()
    const entry = { account_id: account.id, automation_id: id, contact_id: ada, payload: {} }
    const entering = await begin(world, tx => startRunByHand(tx, entry))
    const ending = end(id)
    await untilBlocked(world)
    await entering.commit()
    shows(t, await ending, { status: 200 })
    await clearRuns(world.pool)
    shows(t, await runsOf(world, id), [{ status }])
    shows(t, await run(id, { contact_id: bob }), { status: 422 })
    t.equal((await runsOf(world, id)).length, 1)
  })
}

t.test('an event starts runs only while the automation is enabled', async t => {
  const id = await create({ steps: undefined, trigger: 'user.left', status: 'disabled' })
  await api.request('POST', `/api/automations/${id}/steps`, { body: { type: 'contact_delete' } })
  const send = async () => {
    const body = { event: 'user.left', domain: account.domain, contact_id: bob }
    return JSON.parse((await api.request('POST', '/api/events/send', { body })).text).enrolled
  }
  t.equal(await send(), 0)
  await api.request('PATCH', `/api/automations/${id}`, { body: { status: 'enabled' } })
  t.equal(await send(), 1)
  await api.request('POST', `/api/automations/${id}/stop`)
  t.equal(await send(), 0)
  await api.request('PATCH', `/api/automations/${id}`, { body: { status: 'enabled' } })
  t.equal(await send(), 1)
  const { rows } = await world.pool.pg.query(
    'SELECT version FROM automation_runs WHERE automation_id = $1 ORDER BY id',
    [id],
  )
  t.equal(new Set(rows.map(({ version }) => version)).size, 2)
})
