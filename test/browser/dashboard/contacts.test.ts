import t from 'tap'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'

const dashboard = await openDashboard(t)
const { account, api, faults } = dashboard
const owner = await dashboard.signIn('owner')
/** A domain is older than its subdomain, which is therefore shown first. */
const newer = `news.${account.domain}`
await post('/domains', { name: newer })

async function post(path: string, body: object): Promise<string> {
  const { status, text, body: answer } = await api.request('POST', `/api${path}`, { body })
  if (status >= 400) throw new Error(text)
  return answer.id
}

const rowsOf = () => owner.locator('tbody th').allTextContents()

t.test('a contact is added to the domain whose contacts are shown', async t => {
  await owner.goto('/contacts')
  await owner.selectOption('#filter-domain', account.domain)
  await owner.click('button:text("Filter")')
  await owner.waitForURL(/domain=/)
  await owner.fill('#email', 'ann@y.com')
  await owner.click('button:text("Add contact")')
  await owner.waitForSelector('h1:text("ann@y.com")')
  await owner.goto(`/contacts?domain=${account.domain}`)
  t.strictSame(await rowsOf(), ['ann@y.com'])
})

t.test('contacts are found by address and by segment, and exported', async t => {
  for (const email of ['bob@y.com', 'cleo@y.com']) await post('/contacts', { email, domain: account.domain })
  const filter = { email_contains: 'cleo' }
  const segment = await post('/segments', { name: 'Cleos', domain: account.domain, filter })
  await owner.goto(`/contacts?domain=${account.domain}`)
  await owner.fill('#filter-email', 'Bob@Y.com ')
  await owner.click('button:text("Filter")')
  await owner.waitForURL(/email=/)
  t.strictSame(await rowsOf(), ['bob@y.com'])
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.fill('#filter-email', 'bob')
  await owner.click('button:text("Filter")')
  await owner.waitForSelector('text=No contacts found.')
  await owner.fill('#filter-email', '')
  await owner.selectOption('#filter-segment_id', { label: 'Cleos' })
  await owner.click('button:text("Filter")')
  await owner.waitForURL(/segment_id=\w/)
  t.strictSame(await rowsOf(), ['cleo@y.com'])
  const href = (await owner.getAttribute('a:text("Export")', 'href')) as string
  t.match(await (await owner.request.get(href)).text(), /^email,.*\nann@y\.com.*\nbob@y\.com.*\ncleo@y\.com/s)
  await owner.goto(`/contacts?domain=${newer}&segment_id=${segment}`)
  await owner.waitForSelector('text=No contacts found.')
})

t.test('the conditions of a segment are shown in words', async t => {
  const topic = await post('/topics', { name: 'Offers', default_subscription: 'opt_in' })
  const rules = {
    and: [
      { field: 'topic', operator: 'eq', value: topic },
      { field: 'engagement', operator: 'not_opened', value: { within_days: 30 } },
      {
        not: {
          or: [
            { field: 'created_at', operator: 'within_days', value: 1 },
            { field: 'last_name', operator: 'exists' },
          ],
        },
      },
    ],
  }
  const filter = { status: 'subscribed', email_contains: 'acme' }
  await owner.goto(`/segments/${await post('/segments', { name: 'All', domain: account.domain, filter, rules })}`)
  const conditions = owner.locator('section:has(h2:text-is("Conditions")) > div')
  t.strictSame((await conditions.innerText()).split('\n'), [
    'A contact is in the segment if all of these are true:',
    ...['unsubscribed is false', 'email contains "acme"', 'subscribed to the topic Offers'],
    'got a campaign in the last 30 days but opened none in that time',
    ...['this is not true:', 'any of these is true:', 'created in the last 1 day', 'last name exists'],
  ])
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.click('summary:has-text("JSON of the conditions")')
  t.match(await owner.innerText('[aria-label="the conditions"]'), '"within_days": 30')
})

t.test('a contact shows topics and segments, which members change, and is erased', async t => {
  const domain = account.domain
  const contact = await post('/contacts', { email: 'dan@y.com', domain, timezone: 'Europe/Berlin' })
  await post('/topics', { name: 'News', default_subscription: 'opt_in' })
  await post('/segments', { name: 'Picked', domain, filter: { status: 'members_only' } })
  await post('/segments', { name: 'Found', domain, filter: { email_contains: 'dan' } })
  await owner.goto(`/contacts/${contact}`)
  t.match(await owner.textContent('.facts'), new RegExp(`Domain\\s*${domain}.*Time zone\\s*Europe/Berlin`, 's'))
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.click('button:text("Opt out")')
  await owner.waitForSelector('.notice:text("Topic changed.")')
  t.match(await owner.textContent('section:has(h2:text("Topics"))'), /News.*unsubscribed.*unsubscribed.*Opt in/s)
  t.match(await owner.textContent('section:has(h2:text("Opt-ins and opt-outs"))'), /unsubscribed.*News.*api/s)

  const segments = owner.locator('section:has(h2:text-is("Segments"))')
  t.strictSame(await segments.locator('tbody th').allTextContents(), ['Found'])
  await owner.selectOption('#segment_id', { label: 'Picked' })
  await owner.click('button:text("Add to the segment")')
  await owner.waitForSelector('.notice:text("Added to the segment.")')
  t.strictSame(await segments.locator('tbody th').allTextContents(), ['Found', 'Picked'])
  t.strictSame(await findAccessibilityFaults(owner), [])
  await owner.click('tr:has-text("Found") button:text("Remove")')
  await owner.waitForSelector('[role=alert]')
  await owner.click('tr:has-text("Picked") button:text("Remove")')
  await owner.waitForSelector('.notice:text("Removed from the segment.")')
  t.strictSame(await segments.locator('tbody th').allTextContents(), ['Found'])

  const viewer = await dashboard.signIn('view_only')
  await viewer.goto(`/contacts/${contact}`)
  t.match(await viewer.textContent('main'), /News.*Found/s)
  await owner.click('summary:text("Erase")')
  await owner.click('button:text("Erase")')
  await owner.waitForSelector('.notice:text("Contact and its emails erased.")')
  t.equal((await api.request('GET', `/api/contacts/${contact}`)).status, 404)
})

t.test('segments and audiences are shown with their domain', async t => {
  const optionsOf = async (label: string) => (await owner.getByLabel(label).locator('option').allTextContents()).sort()
  const both = (name: string) => [`${name} (${account.domain})`, `${name} (${newer})`].sort()
  await owner.goto('/campaigns')
  const segments = await optionsOf('Segment')
  t.strictSame(
    segments.filter(name => name.startsWith('General')),
    both('General'),
  )
  t.strictSame(await optionsOf('Audience'), [...both('Default'), 'None'])
  await owner.goto('/segments')
  t.equal(await owner.locator(`tr:has-text("General"):has-text("${newer}")`).count(), 1)
  t.ok((await owner.locator(`option:text-is("Segment General (${newer})")`).count()) > 0)
})

t.test('no page had errors', async t => t.strictSame(faults, []))
