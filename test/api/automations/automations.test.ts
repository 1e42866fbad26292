import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { createAutomation, getAutomation, seriesOf, triggersOf } from '#test/support/automation_definitions.ts'
import { shows } from '#test/support/shows.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const other_domain = newId()
const other_name = `other.${account.domain}`
await addDomain(world.pool, world.secrets, {
  ...{ account_id: account.id, id: other_domain, name: other_name, status: 'verified' },
})

const here = { domain: account.domain }
const create = (fields: object = {}) => createAutomation(api, account, { ...here, ...fields })
const post = (path: string, body: object = {}) => api.request('POST', `/api/automations${path}`, { body })
const get = (id: string) => getAutomation(api, id)
const patch = (id: string, body: object) => api.request('PATCH', `/api/automations/${id}`, { body })
const trigger = (event_name: string) => ({ key: 'start', type: 'trigger', config: { event_name } })
const to = (from: string, to: string, type = 'default') => ({ from, to, type })

const NO_RUNS = { running: 0, completed: 0, failed: 0, skipped: 0 }

t.test('POST /automations stores a disabled automation', async t => {
  const { status, body } = await post('', { name: 'Welcome', ...here, steps: seriesOf(account) })
  t.equal(status, 201)
  shows(t, body, {
    ...{
      object: 'automation',
      name: 'Welcome',
      status: 'disabled',
      domain_id: account.domain_id,
      domain: account.domain,
    },
    ...{ trigger: 'user.signed_up', reentry: 'always', purpose: 'marketing', version: 1, limited: 0, runs: NO_RUNS },
    steps: [
      { object: 'automation_step', id: /^[0-9a-f-]{36}$/, ...trigger('user.signed_up') },
      { key: 'later', type: 'delay', config: { duration: '1 day' } },
      {
        key: 'hello',
        type: 'send_email',
        config: {
          template: null,
          from: `Ann <ann@${account.domain}>`,
          subject: 'Hi',
          html: '<p>Hi',
          text: null,
          reply_to: [],
        },
      },
    ],
    connections: [to('start', 'later'), to('later', 'hello')],
  })
  t.strictSame(await get(body.id), body)
  t.strictSame(await triggersOf(world, body.id), [])
})

t.test('`trigger` makes the trigger step of an automation', async t => {
  const [, later, hello] = seriesOf(account)
  const whole = await get(await create({ trigger: 'paid', steps: [later, hello] }))
  shows(t, whole, {
    trigger: 'paid',
    steps: [{ key: 'trigger', type: 'trigger' }, { key: 'later' }, { key: 'hello' }],
    connections: [to('trigger', 'later'), to('later', 'hello')],
  })
  const [made] = whole.steps
  t.equal((await patch(whole.id, { trigger: 'due' })).status, 200)
  const config = { event_name: 'owed' }
  const { body: changed } = await patch(`${whole.id}/steps/trigger`, { config })
  t.strictSame(changed, { object: 'automation_step', id: made?.id })
  shows(t, (await get(whole.id)).steps[0], { id: made?.id, key: 'trigger', config })
  const connected = await get(
    await create({ trigger: 'paid', steps: [later, hello], connections: [to('later', 'hello')] }),
  )
  t.strictSame(connected.connections, whole.connections)
  shows(t, await get(await create({ steps: undefined })), { trigger: null, steps: [], connections: [] })
  const { body } = await post('', { name: 'x', ...here, trigger: 'paid', steps: seriesOf(account) })
  t.equal(body.message, '`trigger` must be the `event_name` of the step `start`.')
  const id = await create()
  t.equal((await patch(id, { trigger: 'paid' })).status, 200)
  shows(t, await get(id), { trigger: 'paid', version: 2, steps: [trigger('paid'), { key: 'later' }, { key: 'hello' }] })
})

t.test('the domain of an automation is required if the account has several', async t => {
  const { status, body } = await post('', { name: 'x' })
  t.strictSame([status, body.message], [422, 'Missing `domain`: this account has no domain, or several.'])
  shows(t, await get(await create({ domain: other_domain, steps: [] })), { domain: other_name })
})

t.test('GET /automations lists automations by status and domain', async t => {
  const mine = await newAccount(world)
  const ids = [await createAutomation(api, mine), await createAutomation(api, mine, { status: 'enabled' })]
  const list = async (query: string) =>
    JSON.parse((await api.request('GET', `/api/automations${query}`, { key: mine.key })).text)
  const all = await list('')
  shows(t, all, { object: 'list', has_more: false, data: [{ id: ids[1], limited: 0, version: 1 }, { id: ids[0] }] })
  t.notOk('steps' in all.data[0] || 'runs' in all.data[0])
  const found = async (query: string) => (await list(query)).data.map(({ id }: { id: string }) => id)
  t.strictSame(await found('?status=enabled'), [ids[1]])
  t.strictSame(await found(`?domain=${mine.domain}&status=disabled`), [ids[0]])
  t.strictSame(await found(`?after=${ids[1]}`), [ids[0]])
  t.strictSame(await found(`?before=${ids[0]}`), [ids[1]])
  t.strictSame([(await list('?limit=1')).has_more, await found('?limit=1')], [true, [ids[1]]])
  t.equal((await list('?status=on')).name, 'validation_error')
})

t.test('PATCH /automations/:id changes the given fields', async t => {
  const id = await create()
  const { status, body } = await patch(id, { name: 'A', reentry: 'once', purpose: 'transactional' })
  t.strictSame([status, body], [200, { object: 'automation', id }])
  shows(t, await get(id), { name: 'A', reentry: 'once', purpose: 'transactional', status: 'disabled', version: 1 })
  const { body: refused } = await patch(id, { domain: other_name })
  t.match(refused.message, /^Step `hello`: Its sender must be at the domain of the automation, /)
  const steps = seriesOf({ domain: other_name })
  const connections = [to('start', 'later'), to('later', 'hello')]
  t.equal((await patch(id, { domain: other_name, steps, connections })).status, 200)
  shows(t, await get(id), { domain: other_name, name: 'A', version: 2 })
})

t.test('PATCH adds steps to a draft, and requires `connections` with `steps`', async t => {
  const id = await create({ steps: [] })
  const [start, later] = seriesOf(account)
  t.equal((await patch(id, { steps: [start, later], connections: [to('start', 'later')] })).status, 200)
  const before = await get(id)
  t.equal((await patch(id, { connections: [to('start', 'later')] })).status, 200)
  t.strictSame((await get(id)).version, before.version)
  const { body } = await patch(id, { connections: [] })
  t.equal(body.message, 'The step `later` cannot be reached from the trigger: connect it, or remove it.')
  const { body: alone } = await patch(id, { steps: [start] })
  t.strictSame([alone.name, alone.message], ['validation_error', '`connections` must be given with `steps`.'])
})

t.test('DELETE /automations/:id deletes an automation and its trigger', async t => {
  const id = await create({ status: 'enabled' })
  const { status, body } = await api.request('DELETE', `/api/automations/${id}`)
  t.strictSame([status, body], [200, { object: 'automation', id, deleted: true }])
  for (const path of ['', '/runs']) t.equal((await api.request('GET', `/api/automations/${id}${path}`)).status, 404)
  t.strictSame(await triggersOf(world, id), [])
})

t.test('POST /automations/:id/duplicate makes a disabled copy', async t => {
  const id = await create({ status: 'enabled', reentry: 'once', purpose: 'transactional' })
  const { status, body, text } = await post(`/${id}/duplicate`)
  t.equal(status, 201)
  const original = await get(id)
  shows(t, body, {
    ...{ name: 'Copy of Welcome', status: 'disabled', reentry: 'once', purpose: 'transactional', version: 1 },
    ...{ trigger: 'user.signed_up', connections: original.connections },
  })
  t.notOk(JSON.parse(text).steps.some((step: { id: string }) => original.steps.some(one => one.id === step.id)))
  t.equal((await post(`/${id}/duplicate`, { name: 'Again' })).body.name, 'Again')
})
