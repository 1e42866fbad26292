import { Resend } from 'resend'
import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { addRuns } from '#test/support/automation_definitions.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { automations } = new Resend(account.key, { baseUrl: `${api.url}/api` })
const post = async (path: string, body: object = {}) => (await api.request('POST', `/api${path}`, { body })).body

const { id: segmentId } = await post('/segments', { name: 'Paid', domain: account.domain })
const { id: topicId } = await post('/topics', { name: 'News', default_subscription: 'opt_in' })
const { id: template } = await post('/templates', {
  name: 'T',
  html: '{{plan}}',
  subject: 'Hi',
  from: `a@${account.domain}`,
})
await post(`/templates/${template}/publish`)
await post('/contact-properties', { key: 'plan', type: 'string' })

type Given = Parameters<typeof automations.create>[0]
const paid = { type: 'rule', field: 'event.plan', operator: 'eq', value: 'pro' } as const
const steps: Given['steps'] = [
  { key: 'start', type: 'trigger', config: { eventName: 'user.created' } },
  { key: 'wait', type: 'delay', config: { duration: '1 hour' } },
  {
    key: 'welcome',
    type: 'send_email',
    config: {
      template: { id: template, variables: { plan: { var: 'event.plan' } } },
      ...{ subject: 'Welcome', from: `b@${account.domain}`, replyTo: 'c@b.co', topicId },
    },
  },
  { key: 'pay', type: 'wait_for_event', config: { eventName: 'paid', timeout: '3 days', filterRule: paid } },
  {
    key: 'named',
    type: 'condition',
    config: { type: 'and', rules: [{ type: 'rule', field: 'contact.first_name', operator: 'exists' }] },
  },
  { key: 'update', type: 'contact_update', config: { firstName: null, properties: { plan: { var: 'event.plan' } } } },
  { key: 'paying', type: 'add_to_segment', config: { segmentId } },
  { key: 'gone', type: 'contact_delete', config: {} },
]
const connections: Given['connections'] = [
  { from: 'start', to: 'wait' },
  { from: 'wait', to: 'welcome', type: 'default' },
  { from: 'welcome', to: 'pay' },
  { from: 'pay', to: 'named', type: 'event_received' },
  { from: 'pay', to: 'gone', type: 'timeout' },
  { from: 'named', to: 'paying', type: 'condition_met' },
  { from: 'named', to: 'update', type: 'condition_not_met' },
]

t.test('the resend package creates, reads, changes, copies, stops and deletes an automation', async t => {
  const { data, error } = await automations.create({ name: 'Welcome', status: 'enabled', steps, connections })
  t.equal(error, null)
  const id = data?.id as string
  const found = (await automations.get(id)).data
  shows(t, found as object, {
    ...{ object: 'automation', name: 'Welcome', status: 'enabled' },
    steps: steps.map(({ key, type }) => ({ key, type })),
    connections: connections.map(connection => ({ type: 'default', ...connection })),
  })
  shows(t, found?.steps[2]?.config as object, { reply_to: ['c@b.co'], topic_id: topicId, from: `b@${account.domain}` })
  shows(t, (await automations.list({ status: 'enabled' })).data as object, {
    has_more: false,
    data: [{ id, name: 'Welcome' }],
  })
  shows(
    t,
    await automations.update(id, { name: 'A', steps: steps.slice(0, 2), connections: connections.slice(0, 1) }),
    {
      ...{ error: null, data: { object: 'automation', id } },
    },
  )
  const copy = (await automations.duplicate(id)).data?.id as string
  shows(t, (await automations.get(copy)).data as object, { name: 'Copy of A', status: 'disabled' })
  shows(t, await automations.stop(id), { error: null, data: { object: 'automation', id, status: 'disabled' } })
  shows(t, await automations.remove(id), { error: null, data: { object: 'automation', id, deleted: true } })
  shows(t, await automations.get(id), { error: { name: 'not_found', message: 'Automation not found' } })
})

t.test('the resend package lists and reads runs', async t => {
  const { data } = await automations.create({ name: 'Welcome', steps, connections })
  const automationId = data?.id as string
  const [running, , failed] = await addRuns(world, account, automationId, [
    {},
    { status: 'completed' },
    { status: 'failed' },
  ])
  const { data: found } = await automations.runs.list({ automationId, status: ['running', 'failed'] })
  shows(t, found as object, {
    has_more: false,
    data: [
      { id: failed, status: 'failed' },
      { id: running, completed_at: null },
    ],
  })
  const { data: run } = await automations.runs.get({ automationId, runId: running as string })
  shows(t, run as object, {
    object: 'automation_run',
    id: running,
    status: 'running',
    steps: [{ key: 'start', status: 'completed' }],
  })
})
