import t from 'tap'
import { startRunByHand } from '#sql/events/enter_by_hand.ts'
import { startApi } from '#test/support/api.ts'
import { addRuns, createAutomation } from '#test/support/automation_definitions.ts'
import { begin, untilBlocked } from '#test/support/database/locks.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const post = async (path: string, body: object = {}) => (await api.request('POST', `/api${path}`, { body })).body
const remove = (path: string) => api.request('DELETE', `/api${path}`)
const start = { key: 'start', type: 'trigger', config: { event_name: 'paid' } }
const end = { key: 'end', type: 'delay', config: { duration: '1 day' } }

const { id: segment_id } = await post('/segments', { name: 'A', domain: account.domain })
const { id: topic_id } = await post('/topics', { name: 'News', default_subscription: 'opt_in' })
const { id: template } = await post('/templates', { name: 'T', html: 'Hi', subject: 'Hi', from: `a@${account.domain}` })
await post(`/templates/${template}/publish`)
const { id: property } = await post('/contact-properties', { key: 'plan', type: 'string' })

const field = 'contact.properties.plan'
const mail = (config: object) => ({ key: 'x', type: 'send_email', config: { template: { id: template }, ...config } })
const users: [string, string, string, object][] = [
  ['segment', `/segments/${segment_id}`, 'add', { key: 'x', type: 'add_to_segment', config: { segment_id } }],
  ['segment', `/segments/${segment_id}`, 'remove', { key: 'x', type: 'remove_from_segment', config: { segment_id } }],
  ['topic', `/topics/${topic_id}`, 'mail', mail({ topic_id })],
  ['template', `/templates/${template}`, 'mail', mail({})],
  [
    ...(['property', `/contact-properties/${property}`, 'condition'] as const),
    { key: 'x', type: 'condition', config: { type: 'or', rules: [{ type: 'rule', field, operator: 'exists' }] } },
  ],
  [
    ...(['property', `/contact-properties/${property}`, 'update'] as const),
    { key: 'x', type: 'contact_update', config: { properties: { plan: null } } },
  ],
  [
    ...(['property', `/contact-properties/${property}`, 'variable'] as const),
    mail({ template: { id: template, variables: { plan: { var: field } } } }),
  ],
]

t.test('segments, topics, templates and properties of an enabled automation cannot be deleted', async t => {
  for (const [what, path, name, step] of users) {
    const id = await createAutomation(api, account, { name, status: 'enabled', steps: [start, step] })
    const { status, body } = await remove(path)
    t.strictSame(
      [status, body.message],
      [422, `The ${what} is used by the automation "${name}": disable the automation first.`],
    )
    await api.request('PATCH', `/api/automations/${id}`, { body: { status: 'disabled' } })
  }
})

t.test('references of runs in progress cannot be deleted until the runs are stopped', async t => {
  for (const [what, path, name, step] of users) {
    const id = await createAutomation(api, account, { name, status: 'enabled', steps: [start, step] })
    await addRuns(world, account, id, [{ version: 1 }])
    for (const change of [
      { steps: [start, end], connections: [{ from: 'start', to: 'end' }] },
      { status: 'disabled' },
    ]) {
      t.equal((await api.request('PATCH', `/api/automations/${id}`, { body: change })).status, 200)
      const { status, body } = await remove(path)
      t.strictSame(
        [status, body.message],
        [
          422,
          `The ${what} is used by the automation "${name}", and contacts are still in its runs: stop the automation first, or wait until they end.`,
        ],
      )
    }
    // The next test deletes them, although a job has not yet ended the runs.
    await api.request('POST', `/api/automations/${id}/stop`)
  }
})

t.test('the template of a run that starts while its automation is changed cannot be deleted', async t => {
  const { id: name } = await post('/templates', { name: 'U', html: 'Hi', subject: 'Hi', from: `a@${account.domain}` })
  await post(`/templates/${name}/publish`)
  const steps = [start, mail({ template: { id: name } })]
  const id = await createAutomation(api, account, { status: 'enabled', steps })
  const contact = await post('/contacts', { email: 'ann@b.com', domain: account.domain })
  const entry = await begin(world, tx =>
    startRunByHand(tx, { account_id: account.id, automation_id: id, contact_id: contact.id, payload: {} }),
  )
  const body = { steps: [start, end], connections: [{ from: 'start', to: 'end' }] }
  const changed = api.request('PATCH', `/api/automations/${id}`, { body })
  await Promise.race([changed, untilBlocked(world)])
  const deleted = changed.then(() => remove(`/templates/${name}`))
  await Promise.race([deleted, untilBlocked(world)])
  await entry.commit()
  t.equal((await changed).status, 200)
  t.equal((await deleted).status, 422)
  await api.request('POST', `/api/automations/${id}/stop`)
})

t.test('a disabled automation without runs does not prevent deletions, and cannot be enabled after them', async t => {
  const messages = []
  for (const [what, path, , step] of users.filter(([what], n) => users[n - 1]?.[0] !== what)) {
    const id = await createAutomation(api, account, { steps: [start, step] })
    // Version 2 would no longer refer to it.
    await addRuns(world, account, id, [{ version: 1, status: 'completed' }, { version: 2 }])
    t.equal((await remove(path)).status, 200, what)
    const { body } = await api.request('PATCH', `/api/automations/${id}`, { body: { status: 'enabled' } })
    messages.push(body.message)
  }
  t.strictSame(messages, [
    'Step `x`: `config.segment_id` must be the id of a segment.',
    'Step `x`: `config.topic_id` must be the id of a topic.',
    'Step `x`: `config.template.id` must be the id or the alias of a template.',
    'Step `x`: The contact property `plan` does not exist.',
  ])
})

t.test('exactly one of enabling an automation and deleting its segment at once succeeds', async t => {
  const outcomes = new Set<string>()
  for (let n = 0; n < 6; n++) {
    const { id: segment_id } = await post('/segments', { name: `B${n}`, domain: account.domain })
    const step = { key: 'x', type: 'add_to_segment', config: { segment_id } }
    const id = await createAutomation(api, account, { steps: [start, step] })
    const enable = () => api.request('PATCH', `/api/automations/${id}`, { body: { status: 'enabled' } })
    const drop = () => remove(`/segments/${segment_id}`)
    const [first, second] = n % 2 === 0 ? [enable, drop] : [drop, enable]
    const answers = await Promise.all([first(), second()])
    outcomes.add(
      answers
        .map(({ status }) => status)
        .sort()
        .join(' '),
    )
  }
  t.strictSame([...outcomes], ['200 422'])
})
