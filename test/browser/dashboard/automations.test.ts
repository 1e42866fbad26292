import t from 'tap'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { startWorker } from '#workers/worker.ts'

const dashboard = await openDashboard(t)
const { world, account, api, faults } = dashboard
const owner = await dashboard.signIn('owner')

async function post(path: string, body: object): Promise<string> {
  const { status, text, body: answer } = await api.request('POST', `/api${path}`, { body })
  if (status >= 400) throw new Error(text)
  return answer.id
}

t.test('an automation is renamed, limited to one run per contact, run, copied and deleted', async t => {
  const { domain } = account
  await post('/contacts', { email: 'ann@y.com', domain })
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
    { key: 'wait', type: 'delay', config: { duration: '1 day' } },
  ]
  const id = await post('/automations', { name: 'Welcome', domain, status: 'enabled', steps })
  await owner.goto(`/automations/${id}`)
  const runs = owner.locator('section:has(h2:text-is("Runs"))')
  await owner.fill('#name', 'Greeting')
  await owner.selectOption('#reentry', 'once')
  await owner.locator('section:has(h2:text-is("Settings")) button').click()
  await owner.waitForSelector('h1:text-is("Greeting")')
  shows(t, (await api.request('GET', `/api/automations/${id}`)).body, { name: 'Greeting', reentry: 'once' })
  await owner.fill('#email', 'nobody@y.com')
  await owner.click('button:text-is("Start")')
  await owner.waitForSelector('[role=alert]')
  await owner.fill('#email', 'ann@y.com')
  await owner.click('button:text-is("Start")')
  await owner.waitForSelector('.notice:text("Run started.")')
  t.strictSame(await runs.locator('tbody th').allTextContents(), ['ann@y.com'])
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.selectOption('#filter-status', 'failed')
  await owner.click('button:text("Filter")')
  await owner.waitForSelector('text=No runs found.')
  await owner.click('button:text("Duplicate")')
  await owner.waitForSelector('h1:text-is("Copy of Greeting")')
  await owner.click('summary:text("Delete")')
  await owner.click('button:text-is("Delete")')
  await owner.waitForSelector('.notice:text("Automation deleted.")')
  t.strictSame(await owner.locator('tbody th').allTextContents(), ['Greeting'])
})

t.test('the steps of an automation are shown in words, with their JSON folded', async t => {
  const { domain } = account
  const segment_id = await post('/segments', { name: 'Gold', domain })
  const topic_id = await post('/topics', { name: 'News', default_subscription: 'opt_in' })
  const template = { id: await post('/templates', { name: 'Welcome', html: '<p>Hi</p>' }) }
  const rule = (field: string, operator: string, value?: unknown) => ({ type: 'rule', field, operator, value })
  const steps: [key: string, type: string, config: object, words: string][] = [
    ['start', 'trigger', { event_name: 'signed.up' }, 'Contacts enter when the event signed.up occurs.'],
    ['two_days', 'delay', { duration: '2 days' }, 'Wait 2 days.'],
    [
      ...(['morning', 'delay'] as const),
      { until: { time: '09:00', days: ['monday', 'friday'], timezone: 'contact' } },
      'Wait until 09:00 in the time zone of the contact on Monday or Friday.',
    ],
    [
      ...(['hello', 'send_email'] as const),
      { from: `Acme <hello@${domain}>`, subject: 'Welcome', html: '<p>Hi</p>', topic_id },
      `Send the email “Welcome” from Acme <hello@${domain}>, only to subscribers of the topic News.`,
    ],
    ['again', 'send_email', { template }, 'Send the template Welcome.'],
    [
      ...(['change', 'contact_update'] as const),
      { first_name: 'Ann', last_name: { var: 'event.name' }, unsubscribed: true },
      'Change the contact:\nlast name: the value of event.name\nfirst name: "Ann"\nunsubscribed: true',
    ],
    ['add', 'add_to_segment', { segment_id }, 'Add the contact to the segment Gold.'],
    [
      ...(['order', 'wait_for_event'] as const),
      { event_name: 'order.placed', timeout: '1 day', filter_rule: rule('event.total', 'gte', 5) },
      'Wait up to 1 day for the event order.placed, if event.total is at least 5',
    ],
    [
      ...(['vip', 'condition'] as const),
      { type: 'or', rules: [rule('contact.email', 'ends_with', '@acme.com'), rule('event.plan', 'exists')] },
      'If any of these is true:\ncontact.email ends with "@acme.com"\nevent.plan exists',
    ],
    ['gone', 'contact_delete', {}, 'Delete the contact. The run ends.'],
  ]
  const connections = steps.slice(1).map(([to], n) => {
    const [from, type] = steps[n] ?? []
    const outcomes: Record<string, string> = { wait_for_event: 'timeout', condition: 'condition_met' }
    return { from, to, type: outcomes[type ?? ''] ?? 'default' }
  })
  const body = { name: 'All', domain, connections, steps: steps.map(([key, type, config]) => ({ key, type, config })) }
  const id = await post('/automations', body)
  await owner.goto(`/automations/${id}`)
  t.strictSame(
    await owner.locator('.steps li > div').allInnerTexts(),
    steps.map(([, , , words]) => words),
  )
  t.strictSame(await findAccessibilityFaults(owner), [])
  const json = owner.locator('[aria-label="step two_days"]')
  t.equal(await json.isVisible(), false)
  await owner.click('summary:has-text("JSON of step two_days")')
  t.strictSame(JSON.parse(await json.innerText()), { duration: '2 days' })
})

t.test('the page of a run shows the result of each step, with a link to its email', async t => {
  const { domain } = account
  const email = 'finn@y.com'
  await post('/contacts', { email, domain })
  const rule = { type: 'rule', field: 'contact.email', operator: 'eq', value: email }
  const steps = [
    { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
    { key: 'finn', type: 'condition', config: rule },
    { key: 'hello', type: 'send_email', config: { from: `hello@${domain}`, subject: 'Hello Finn', text: 'Hi' } },
    { key: 'wait', type: 'delay', config: { duration: '1 day' } },
  ]
  const connections = [
    { from: 'start', to: 'finn' },
    { from: 'finn', to: 'hello', type: 'condition_met' },
    { from: 'hello', to: 'wait' },
  ]
  const id = await post('/automations', { name: 'Finn', domain, status: 'enabled', steps, connections })
  const run = await post(`/automations/${id}/run`, { email })
  const worker = await startWorker(world)
  t.teardown(() => worker.stop())
  const results = owner.locator('tbody td:last-child')
  await waitUntil(async () => {
    await owner.goto(`/automations/${id}/runs/${run}`)
    return (await results.count()) === steps.length
  }, 'the run waits')
  const shown = await results.allInnerTexts()
  t.strictSame(shown.slice(0, 3), ['', 'condition met', 'View email'])
  t.match(shown[3], /^until [-\d]+ [:\d]+ UTC$/)
  await owner.click('a:text("View email")')
  await owner.waitForSelector('h1:text-is("Hello Finn")')
  t.strictSame(await owner.locator('.facts a').allInnerTexts(), ['Finn', 'View contact'])
  await owner.click('.facts a:text-is("View contact")')
  await owner.waitForSelector(`h1:text-is("${email}")`)
})

t.test('an event is defined, changed and deleted, and shows when it was sent', async t => {
  await owner.goto('/events')
  await owner.fill('#name', 'plan.changed')
  await owner.fill('#schema', '{"plan": 5}')
  await owner.click('button:text-is("Create")')
  await owner.waitForSelector('[role=alert]')
  t.equal(await owner.inputValue('#name'), 'plan.changed')
  await owner.fill('#schema', '{"plan": "string"}')
  await owner.click('button:text-is("Create")')
  await owner.waitForSelector('h1:text-is("plan.changed")')
  const { domain } = account
  await post('/events/send', { event: 'plan.changed', email: 'ann@y.com', domain, payload: { plan: 'gold' } })
  await owner.reload()
  t.match(await owner.textContent('tbody tr'), '{"plan":"gold"}')
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.fill('#schema', '')
  await owner.click('button:text-is("Save")')
  await owner.waitForSelector('.notice:text("Event saved.")')
  shows(t, (await api.request('GET', '/api/events/plan.changed')).body, { name: 'plan.changed', schema: {} })
  await owner.click('summary:text("Delete")')
  await owner.click('button:text-is("Delete")')
  await owner.waitForSelector('.notice:text("Event deleted.")')
})

t.test('no page had errors', async t => t.strictSame(faults, []))
