import t from 'tap'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { acceptEmail, deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'

const dashboard = await openDashboard(t)
const { world, account, api, faults } = dashboard
const owner = await dashboard.signIn('owner')

t.test('rows without a subject or recipients have links that can be followed', async t => {
  const to = 'ann@y.com'
  const { body: contact } = await api.request('POST', '/api/contacts', { body: { email: to, domain: account.domain } })
  const email_ids = [await acceptEmail(world, account, { to, subject: '' })]
  await owner.goto(`/contacts/${contact.id}`)
  await owner.click('tbody a:text-is("(no subject)")')
  await owner.waitForSelector('h1:text-is("(no subject)")')
  const work = openWork(t, world)
  await deliverEmails(work, email_ids)
  await api.request('DELETE', `/api/contacts/${contact.id}?erase=true`)
  for (const path of ['/', '/emails']) {
    await owner.goto(path)
    t.strictSame(await owner.locator('tbody th a').allTextContents(), ['(none)'], path)
    t.strictSame(await findAccessibilityFaults(owner), [], path)
  }
})

t.test('domains are shown in Unicode, and a list is filtered by one', async t => {
  const { body: domain } = await api.request('POST', '/api/domains', { body: { name: 'bücher.com' } })
  const email = 'ann@xn--mnchen-3ya.de'
  const { body: contact } = await api.request('POST', '/api/contacts', { body: { email, domain: account.domain } })
  const id = await acceptEmail(world, account, { to: `Ann <${email}>`, subject: 'Unicode', text: 'Hi' })
  await deliverEmails(openWork(t, world), [id])
  for (const [path, shown] of [
    ['/', 'bücher.com'],
    ['/domains', 'bücher.com'],
    [`/domains/${domain.id}`, 'h1:text-is("bücher.com")'],
    ['/emails', 'Ann <ann@münchen.de>'],
    [`/emails/${id}`, 'dd:text-is("Ann <ann@münchen.de>")'],
    [`/contacts?domain=${account.domain}`, 'ann@münchen.de'],
    [`/contacts/${contact.id}`, 'h1:text-is("ann@münchen.de")'],
  ] as const) {
    await owner.goto(path)
    const selector = shown.includes(':text-is') ? shown : `main a:text-is("${shown}")`
    t.equal(await owner.locator(selector).count(), 1, path)
  }
  await owner.goto(`/emails/${id}/again`)
  t.equal(await owner.inputValue('#to'), 'Ann <ann@münchen.de>')
  await owner.goto('/contacts')
  t.equal(await owner.inputValue('#filter-domain'), account.domain, 'the domain that has contacts, not the newest')
  await owner.selectOption('#filter-domain', 'bücher.com')
  await owner.fill('#filter-email', email)
  await owner.click('button:text("Filter")')
  await owner.waitForSelector('text=No contacts found.')
  t.match(await owner.innerText('main li'), `${account.domain}: 1 contact`)
  await owner.click(`main li a:text-is("${account.domain}")`)
  await owner.waitForSelector('tbody a:text-is("ann@münchen.de")')
})

t.test('a page that is not found runs its scripts once, and the page before is one step back', async t => {
  const id = await acceptEmail(world, account, { subject: 'Gone' })
  await owner.goto('/emails')
  const link = owner.locator(`a[href="/emails/${id}"]`)
  await link.evaluate(a => a.setAttribute('href', '/emails/01900000-0000-7000-8000-000000000000'))
  const before = faults.length
  await owner.click('a[href="/emails/01900000-0000-7000-8000-000000000000"]')
  await owner.waitForSelector('text=This record does not exist or was deleted.')
  await owner.waitForLoadState('load')
  t.strictSame(faults.slice(before), [], 'the scripts run once')
  await owner.goBack()
  await owner.waitForSelector('h1:text-is("Emails")')
  t.equal(new URL(owner.url()).pathname, '/emails')
})

t.test('all scheduled emails of a page are canceled at once', async t => {
  const scheduled_at = 'in 2 days'
  for (const subject of ['One', 'Two']) {
    await acceptEmail(world, account, { to: ['ann@y.com'], subject, scheduled_at })
  }
  await owner.goto('/emails?status=scheduled')
  await owner.check('text=All 2 emails on this page')
  await owner.click('button:text("Cancel scheduled")')
  await owner.waitForSelector('.notice:text("Done for 2 of 2 emails.")')
  const { body } = await api.request('GET', '/api/emails?status=canceled')
  t.equal(body.data.length, 2)
  await owner.goto('/emails?status=canceled&q=Two')
  await owner.check('text=All 1 email on this page')
  await owner.click('button:text("Cancel scheduled")')
  await owner.waitForSelector('.notice:text("Done for 0 of 1 email.")')
})

t.test('a scheduled campaign is not shown as one that was sent to nobody', async t => {
  const content = { from: `News <news@${account.domain}>`, subject: 'Summer', html: '<p>Hello</p>' }
  await api.request('POST', '/api/contacts', { body: { email: 'ann@y.com', domain: account.domain } })
  const { body } = await api.request('POST', '/api/campaigns', { body: { ...content, audience_id: account.domain_id } })
  await api.request('POST', `/api/campaigns/${body.id}/send`, { body: { scheduled_at: 'in 3 days' } })
  await owner.goto('/campaigns')
  t.match(await owner.innerText('tbody tr'), /scheduled\tnot counted yet\tscheduled for [-\d]+ [:\d]+ UTC/)
  await owner.click('tbody a:text-is("Summer")')
  await owner.waitForSelector('p:text("It is not sent yet.")')
  t.strictSame(await owner.locator('main h2').allInnerTexts(), ['Content'])
  t.match(await owner.frameLocator('iframe[title=Content]').locator('body').innerText(), /^Subject: Summer.*Hello/s)
})

t.test('a rejected filter keeps the filters on the page and names the one at fault', async t => {
  const cases = [
    ['/received?from=ann&q=price', '#filter-from', '#filter-q', 'price'],
    ['/logs?endpoint=emails&method=POST', '#filter-endpoint', '#filter-method', 'POST'],
    ['/emails?created_after=May&q=invoice', '#filter-created_after', '#filter-q', 'invoice'],
  ] as const
  for (const [path, field, other, value] of cases) {
    const response = await owner.goto(path)
    t.equal(response?.status(), 422, path)
    t.equal(await owner.inputValue(other), value)
    t.equal(await owner.getAttribute(field, 'aria-invalid'), 'true')
    t.equal(await owner.getAttribute('[role=alert] a', 'href'), field)
    t.strictSame(await findAccessibilityFaults(owner), [], path)
  }
  await owner.goto('/received?from=ann')
  await owner.fill('#filter-from', 'ann@y.com')
  await owner.click('button:text("Filter")')
  await owner.waitForSelector('text=No emails found.')
})

t.test('a domain gets a postal address, a brand and enforced TLS', async t => {
  const path = `/domains/${account.domain_id}`
  await owner.goto(path)
  await owner.fill('#postal_address', '1 Main Street, Springfield')
  await owner.fill('#name', 'Acme')
  await owner.fill('#color', 'blue')
  await owner.click('button:text("Save sender")')
  await owner.waitForSelector('[role=alert] a[href="#color"]')
  t.equal(await owner.inputValue('#name'), 'Acme')
  await owner.fill('#color', '#1a5fb4')
  await owner.click('button:text("Save sender")')
  await owner.waitForSelector('.notice:text("Sender saved.")')
  await owner.check('#tls')
  await owner.click('button:text-is("Save")')
  await owner.waitForSelector('.notice:text("Domain updated.")')
  t.strictSame(await findAccessibilityFaults(owner), [])
  shows(t, (await api.request('GET', `/api${path}`)).body, {
    ...{ tls: 'enforced', postal_address: '1 Main Street, Springfield' },
    brand: { name: 'Acme', color: '#1a5fb4', logo_url: null },
  })
})

t.test('no page had errors', async t => t.strictSame(faults, []))
