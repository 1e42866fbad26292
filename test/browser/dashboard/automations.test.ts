import t from 'tap'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { shows } from '#test/support/shows.ts'

const dashboard = await openDashboard(t)
const { account, api, faults } = dashboard
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
