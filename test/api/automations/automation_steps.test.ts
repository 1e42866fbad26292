import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { createAutomation, getAutomation, seriesOf, triggersOf } from '#test/support/automation_definitions.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const get = (id: string) => getAutomation(api, id)
const add = (id: string, body: object) => api.request('POST', `/api/automations/${id}/steps`, { body })
const change = (id: string, step: string, body: object) =>
  api.request('PATCH', `/api/automations/${id}/steps/${step}`, { body })
const remove = (id: string, step: string) => api.request('DELETE', `/api/automations/${id}/steps/${step}`)

const delay = { type: 'delay', config: { duration: '1 hour' } }
const condition = { type: 'branch', config: { type: 'rule', field: 'contact.first_name', operator: 'exists' } }

/** `from -type-> to` of each connection. */
async function waysOf(id: string): Promise<string[]> {
  const { connections } = await get(id)
  return connections.map(({ from, to, type }) => `${from} -${type}-> ${to}`)
}

t.test('POST /automations/:id/steps appends steps one by one', async t => {
  const id = await createAutomation(api, account, { steps: [] })
  const { body: refused } = await add(id, delay)
  t.equal(refused.message, 'The automation has no trigger: give it a `trigger`, or a step of this type.')
  const { status, body } = await add(id, { type: 'trigger', config: { event_name: 'paid' } })
  t.equal(status, 201)
  shows(t, body, {
    object: 'automation_step',
    id: String,
    key: 'step_0',
    type: 'trigger',
    config: { event_name: 'paid' },
  })
  shows(t, (await add(id, delay)).body, { key: 'step_1' })
  shows(t, (await add(id, { ...condition, key: 'named' })).body, { type: 'condition' })
  t.strictSame(await waysOf(id), ['step_0 -default-> step_1', 'step_1 -default-> named'])
  const { body: open } = await add(id, delay)
  t.equal(
    open.message,
    'The step `named` has a connection of type `default`: a `condition` can have only `condition_met` or `condition_not_met`.',
  )
  await add(id, { ...delay, key: 'yes', connection_type: 'condition_met' })
  await add(id, { ...delay, key: 'no', after: 'named', connectionType: 'condition_not_met' })
  t.strictSame((await waysOf(id)).slice(2), ['named -condition_met-> yes', 'named -condition_not_met-> no'])
  shows(t, await get(id), {
    trigger: 'paid',
    steps: [{ key: 'step_0' }, { key: 'step_1' }, { key: 'named' }, { key: 'yes' }, { key: 'no' }],
  })
})

t.test('POST /automations/:id/steps inserts a step after another', async t => {
  const id = await createAutomation(api, account)
  const { steps } = await get(id)
  t.equal((await add(id, { ...delay, key: 'soon', after: steps[0]?.id })).status, 201)
  t.strictSame(await waysOf(id), ['start -default-> soon', 'later -default-> hello', 'soon -default-> later'])
  await add(id, { ...condition, key: 'named', after: 'soon' })
  t.strictSame(await waysOf(id), [
    ...['start -default-> soon', 'later -default-> hello', 'soon -default-> named', 'named -condition_met-> later'],
  ])
  const { body } = await add(id, { type: 'contact_delete', after: 'start' })
  t.equal(body.message, 'The run ends at a `contact_delete`: `soon` cannot come after it.')
  for (const [given, message] of [
    [{ ...delay, after: 'nowhere' }, 'Step not found'],
    [{ ...delay, key: 'soon' }, 'Two steps have the key `soon`: each needs a key of its own.'],
    [{ type: 'delay' }, /^Step `step_5`: Missing `config.duration` or `config.until` field/],
    [{}, 'Missing `type` field.'],
  ] as const) {
    shows(t, (await add(id, given)).body, { message })
  }
})

t.test('PATCH /automations/:id/steps/:step_id changes its config', async t => {
  const id = await createAutomation(api, account, { status: 'enabled' })
  const { steps } = await get(id)
  const { status, body } = await change(id, 'later', { config: { duration: '2 days' } })
  t.strictSame([status, body], [200, { object: 'automation_step', id: steps[1]?.id }])
  shows(t, await get(id), { version: 2, steps: [steps[0], { ...steps[1], config: { duration: '2 days' } }, steps[2]] })
  await change(id, String(steps[0]?.id).toUpperCase(), { config: { event_name: 'paid' } })
  t.strictSame(await triggersOf(world, id), [{ domain_id: account.domain_id, event: 'paid' }])
  await change(id, 'later', {})
  await change(id, 'hello', { key: 'hello' })
  shows(t, await get(id), { trigger: 'paid', version: 3 })
  for (const [ref, given, message] of [
    ['later', { config: { duration: 'x' } }, /^Step `later`: `config.duration` must be a length of time/],
    ['later', { type: 'condition' }, /^Step `later`: `config.type` must be/],
    ['later', { ...condition }, /^The step `later` has a connection of type `default`/],
    ['later', { key: 'other' }, '`key` cannot be changed.'],
    ['nowhere', {}, 'Step not found'],
    [newId(), {}, 'Step not found'],
  ] as const) {
    shows(t, (await change(id, ref, given)).body, { message })
  }
})

t.test('DELETE /automations/:id/steps/:step_id connects its neighbors', async t => {
  const id = await createAutomation(api, account)
  const { steps } = await get(id)
  const { status, body } = await remove(id, 'later')
  t.strictSame([status, body], [200, { object: 'automation_step', id: steps[1]?.id, deleted: true }])
  t.strictSame(await waysOf(id), ['start -default-> hello'])
  shows(t, await get(id), { steps: [steps[0], steps[2]] })
  t.equal((await remove(id, 'later')).status, 404)
  t.equal((await remove(id, 'start')).body.message, 'The trigger cannot be removed: change it.')
  await add(id, { ...condition, key: 'named', after: 'start' })
  const { body: refused } = await remove(id, 'named')
  t.equal(refused.message, 'The step `hello` cannot be reached from the trigger: connect it, or remove it.')
  await remove(id, 'hello')
  await remove(id, 'named')
  shows(t, await get(id), { steps: [{ key: 'start' }], connections: [] })
})

t.test('the only step of an enabled automation cannot be deleted', async t => {
  const steps = seriesOf(account).slice(0, 2)
  const id = await createAutomation(api, account, { status: 'enabled', steps })
  const { status, body } = await remove(id, 'later')
  t.strictSame(
    [status, body.message],
    [422, 'To be enabled, an automation must have a trigger and at least one more step.'],
  )
})
