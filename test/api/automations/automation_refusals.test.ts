import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { createAutomation, getAutomation, seriesOf, triggersOf } from '#test/support/automation_definitions.ts'
import { shows } from '#test/support/shows.ts'
import { makeTopic } from '#test/support/unsubscribing.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const other_domain = newId()
for (const [id, name, status] of [
  [other_domain, `other.${account.domain}`, 'verified'],
  [newId(), `new.${account.domain}`, 'pending'],
] as const) {
  await addDomain(world.pool, world.secrets, { account_id: account.id, id, name, status })
}

const from = `a@${account.domain}`
const post = (path: string, body: object = {}) => api.request('POST', `/api${path}`, { body })
const patch = (id: string, body: object) => api.request('PATCH', `/api/automations/${id}`, { body })
const makeId = async (path: string, body: object): Promise<string> => (await post(path, body)).body.id
const start = { key: 'start', type: 'trigger', config: { event_name: 'paid' } }
const mail = (config: object) => ({ key: 'hello', type: 'send_email', config })

/** The error of POST /automations for steps behind a trigger. */
async function refusalOf(steps: object[], fields: object = {}): Promise<string> {
  const body = { name: 'x', domain: account.domain, steps: [start, ...steps], ...fields }
  const { status, body: answer } = await post('/automations', body)
  return status === 201 ? 'stored' : `${status} ${answer.message}`
}

await post('/contact-properties', { key: 'plan', type: 'string' })
const draft = await makeId('/templates', { name: 'Draft', alias: 'draft', html: 'Hi', subject: 'Hi', from })
const bare = await makeId('/templates', { name: 'Bare', html: 'Hi' })
const whole = await makeId('/templates', { name: 'Whole', alias: 'whole', html: 'Hi', subject: 'Hi', from })
const elsewhere = await makeId('/templates', {
  ...{ name: 'Elsewhere', html: 'Hi', subject: 'Hi', from: `a@other.${account.domain}` },
})
for (const id of [bare, whole, elsewhere]) await post(`/templates/${id}/publish`)
const segment_id = await makeId('/segments', { name: 'A', domain: account.domain })

t.test('POST /automations refuses invalid bodies with 422', async t => {
  for (const [body, message] of [
    [{}, 'Missing `name` field.'],
    [{ name: '' }, '`name` must not be empty.'],
    [{ name: 'x', status: 'on' }, '`status` must be `enabled` or `disabled`.'],
    [{ name: 'x', steps: Array(151).fill(start) }, '`steps` must have at most 150 steps.'],
    [{ name: 'x', steps: [{ type: 'delay' }] }, 'Missing `steps[0].key` field.'],
    [
      { name: 'x', steps: [{ key: 'a', type: 'delay', config: { duration: '0 days' } }] },
      'Step `a`: `config.duration` must be longer than 0 seconds.',
    ],
    [{ name: 'x', steps: [{ key: 'a', type: 'webhook' }] }, /^Step `a`: `type` must be `trigger`, /],
    [{ name: 'x', connections: [{ from: 'a', to: 'b', type: 'x' }] }, /^`connections\[0\].type` must be `default`, /],
  ] as const) {
    shows(t, await post('/automations', body), { status: 422, body: { message } })
  }
})

t.test('steps that do not fit together are refused by name', async t => {
  const later = seriesOf(account)[1] as object
  t.equal(
    await refusalOf([{ ...start, key: 'again' }]),
    '422 The steps `start` and `again` are both triggers: an automation has only one.',
  )
  t.equal(
    await refusalOf([], { steps: [later] }),
    '422 The automation has no trigger: give it a `trigger`, or a step of this type.',
  )
  t.equal(
    await refusalOf([later], { connections: [] }),
    '422 The step `later` cannot be reached from the trigger: connect it, or remove it.',
  )
})

t.test('templates, topics, segments and properties of a step must exist on its domain', async t => {
  const id = newId()
  const topic_id = await makeTopic(world, account, { name: 'Other', domain_id: other_domain })
  const rule = (field: string) => ({ type: 'rule', field, operator: 'exists' })
  const cases: [object, string][] = [
    [mail({ template: { id } }), '`config.template.id` must be the id or the alias of a template.'],
    [mail({ topic_id: id }), '`config.topic_id` must be the id of a topic.'],
    [mail({ topic_id }), '`config.topic_id` must belong to the domain of the automation.'],
    [mail({ from: 'a@b.com' }), `Its sender must be at the domain of the automation, ${account.domain}, not a@b.com.`],
    [
      mail({ template: { id: 'whole', variables: { a: { var: 'contact.properties.age' } } } }),
      'The contact property `age` does not exist.',
    ],
    [
      { key: 'hello', type: 'add_to_segment', config: { segment_id: id } },
      '`config.segment_id` must be the id of a segment.',
    ],
    [
      { key: 'hello', type: 'remove_from_segment', config: { segment_id: other_domain } },
      '`config.segment_id` must belong to the domain of the automation.',
    ],
    [
      { key: 'hello', type: 'condition', config: { type: 'and', rules: [rule('properties.age')] } },
      'The contact property `age` does not exist.',
    ],
    [
      { key: 'hello', type: 'contact_update', config: { properties: { age: 5 } } },
      'The contact property `age` does not exist.',
    ],
    [
      { key: 'hello', type: 'contact_update', config: { properties: { plan: 5 } } },
      '`config.properties.plan` must be a string, the type of the property.',
    ],
    [
      { key: 'hello', type: 'contact_update', config: { first_name: { var: 'contact.properties.age' } } },
      'The contact property `age` does not exist.',
    ],
  ]
  for (const [step, message] of cases) t.equal(await refusalOf([step]), `422 Step \`hello\`: ${message}`)
  const fine = [
    { key: 'a', type: 'add_to_segment', config: { segment_id } },
    { key: 'b', type: 'contact_update', config: { properties: { plan: { var: 'event.plan' } }, last_name: null } },
    { key: 'c', type: 'condition', config: rule('contact.properties.plan') },
  ]
  t.equal(await refusalOf(fine), 'stored')
})

t.test('an alias of a template is stored as its id', async t => {
  const id = await createAutomation(api, account, {
    domain: account.domain,
    steps: [start, mail({ template: { id: 'whole' } })],
  })
  const { steps } = await getAutomation(api, id)
  shows(t, steps[1], { config: { template: { id: whole } } })
})

t.test('an automation can be enabled only if its emails can be sent', async t => {
  const cases: [object[], string][] = [
    [[], 'To be enabled, an automation must have a trigger and at least one more step.'],
    [[mail({ template: { id: draft }, from })], 'Step `hello`: Its template is not published.'],
    [[mail({ from, subject: 'x' })], 'Step `hello`: It has no content: give it a `template`, `html` or `text`.'],
    [[mail({ from, html: 'x' })], 'Step `hello`: It has no `subject`.'],
    [[mail({ template: { id: bare }, from })], 'Step `hello`: It has no `subject`, and neither has its template.'],
    [[mail({ template: { id: bare }, subject: 'x' })], 'Step `hello`: It has no `from`, and neither has its template.'],
    [
      [mail({ template: { id: elsewhere } })],
      `Step \`hello\`: Its sender must be at the domain of the automation, ${account.domain}, not a@other.${account.domain}.`,
    ],
  ]
  for (const [steps, message] of cases) {
    t.equal(await refusalOf(steps, { status: 'enabled' }), `422 ${message}`)
    const id = await createAutomation(api, account, { domain: account.domain, steps: [start, ...steps] })
    shows(t, await patch(id, { status: 'enabled' }), { status: 422, body: { message } })
    shows(t, await patch(id, { name: 'Still a draft' }), { status: 200 })
    t.strictSame(await triggersOf(world, id), [])
  }
  for (const config of [{ template: { id: whole } }, { from, subject: 'x', text: 'x' }]) {
    t.equal(await refusalOf([mail(config)], { status: 'enabled' }), 'stored')
  }
})

t.test('an unverified domain is refused with the step that uses it', async t => {
  const config = { from: `a@new.${account.domain}`, subject: 'x', html: 'x' }
  const there = { domain: `new.${account.domain}` }
  t.equal(
    await refusalOf([mail(config)], { ...there, status: 'enabled' }),
    `422 Step \`hello\`: The new.${account.domain} domain is not verified: its status is \`pending\`. Publish its DNS records, then verify it.`,
  )
  t.equal(await refusalOf([mail(config)], there), 'stored')
})

t.test('a change of an enabled automation must leave it able to send', async t => {
  const id = await createAutomation(api, account, { domain: account.domain, status: 'enabled' })
  const steps = [start, mail({ template: { id: draft } })]
  const connections = [{ from: 'start', to: 'hello' }]
  const { body } = await patch(id, { steps, connections })
  t.equal(body.message, 'Step `hello`: Its template is not published.')
  shows(t, await patch(id, { steps, connections, status: 'disabled' }), { status: 200 })
})

t.test('an enabled automation keeps its domain', async t => {
  const id = await createAutomation(api, account, { domain: account.domain, status: 'enabled' })
  const { status, body } = await patch(id, { domain: other_domain })
  t.strictSame(
    [status, body.message],
    [422, 'The domain of an enabled automation cannot be changed: disable it first.'],
  )
  shows(t, await patch(id, { domain: account.domain_id }), { status: 200 })
  shows(t, await patch(id, { domain: other_domain, status: 'disabled' }), { status: 422 })
})

t.test('marketing mail needs links that recipients can open', async t => {
  await world.pool.pg.query(`UPDATE domains SET transport = 'relay' WHERE id = $1`, [account.domain_id])
  const refusal = await refusalOf([mail({ template: { id: whole } })], { status: 'enabled' })
  t.match(refusal, /^422 Step `hello`: Recipients could not open the links to unsubscribe: BASE_URL is /)
  t.equal(
    await refusalOf([mail({ template: { id: whole } })], { status: 'enabled', purpose: 'transactional' }),
    'stored',
  )
})
