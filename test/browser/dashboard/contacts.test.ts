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

t.test('no page had errors', async t => t.strictSame(faults, []))
