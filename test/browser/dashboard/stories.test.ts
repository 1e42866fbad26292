import t, { type Test } from 'tap'
import { createSetupLink } from '#flows/members/member_links.ts'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { type Hands, keyboard, mouse } from '#test/support/hands.ts'
import { ALLOWED } from '#test/support/http/fetching.ts'
import { acceptEmail, openWork, readEmail } from '#test/support/sending.ts'
import { openSink } from '#test/support/smtp/open_sink.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { startHook } from '#test/support/webhooks/webhook_receiver.ts'
import { newAccount } from '#test/support/world.ts'

const hook = await startHook(t)
const dashboard = await openDashboard(t, { FETCH_ALLOW: `${ALLOWED}/32`, FETCH_PORTS: String(hook.port) })
const { world, account, api, faults } = dashboard
const sink = await openSink(t)

/** The first hour of somebody who has just installed the server: from the setup link to the first contact. */
async function firstHour(t: Test, { page, fill, press }: Hands): Promise<void> {
  const own = await newAccount(world)
  await page.goto(await createSetupLink(world, own.id))
  await fill('Email address', `ann@${own.domain}`)
  await fill('Your name', 'Ann')
  await fill('Password', 'correct horse battery')
  await press('Set up')
  await page.waitForSelector('h1:text-is("Overview")')

  await press('API keys')
  await page.waitForSelector('h1:text-is("API keys")')
  await fill('Name', 'First key')
  await press('Create key')
  const key = (await page.textContent('.copyable code')) as string
  const email = { from: `hello@${own.domain}`, to: ['bob@acme.org'], subject: 'My first', text: 'It works.' }
  const { status, text } = await api.request('POST', '/api/emails', { key, body: email })
  t.equal(status, 200, text)

  await press('Emails')
  await page.waitForSelector('h1:text-is("Emails")')
  await press('bob@acme.org')
  await page.waitForSelector('h1:text-is("My first")')
  t.match(await page.textContent('.why'), 'bob@acme.org')

  await press('Domains')
  await page.waitForSelector('h1:text-is("Domains")')
  await fill('Name', `shop.${own.domain}`)
  await press('Add domain')
  await page.waitForSelector(`h1:text-is("shop.${own.domain}")`)
  t.match(await page.textContent('main'), '_domainkey')

  await press('Contacts')
  await page.waitForSelector('h1:text-is("Contacts")')
  await fill('Email address', 'cleo@example.org')
  await press('Add contact')
  await page.waitForSelector('h1:text-is("cleo@example.org")')
  await press('Unsubscribe')
  await page.waitForSelector('text=Contact unsubscribed.')
}

t.test('the first hour works with the keyboard alone', async t => {
  await firstHour(t, keyboard(await dashboard.open()))
  t.strictSame(faults, [])
})

t.test('the first hour works without scripts', async t => {
  await firstHour(t, mouse(await dashboard.open({ javaScriptEnabled: false })))
  t.strictSame(faults, [])
})

t.test('the page of a delayed email shows the reason, and “Try now” sends it', async t => {
  const work = openWork(t, world, sink.url)
  const id = await acceptEmail(world, account, { to: ['grey-1@b.com'], subject: 'Delayed' })
  work.sender.start()
  // It is counted as an attempt when it is claimed, before the reply.
  await waitUntil(async () => (await readEmail(world, account, id)).queue?.[0]?.last_reply, 'the server has replied')
  const page = await dashboard.signIn('owner')
  await page.goto(`/emails/${id}`)
  t.equal(await page.innerText('.heading .badge.wait'), '… delivery delayed')
  t.match(await page.textContent('.why'), /grey-1@b\.com: .+ Tried once\.\s+Next attempt: .+ The server said: 451/s)
  await page.click('button:text("Try now")')
  await waitUntil(async () => (await readEmail(world, account, id)).status === 'delivered', 'it is delivered')
  await page.reload()
  t.equal(await page.locator('.why').count(), 0)
})

t.test('keys move in a list, select, go back and lead to forms, and can be turned off', async t => {
  for (const subject of ['One', 'Two']) await acceptEmail(world, account, { subject })
  const page = await dashboard.signIn('owner')
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await page.goto('/emails?status=queued')
  await press('j', 'j', 'x')
  t.equal(await page.locator('tbody :checked').count(), 1)
  await press('x')
  t.equal(await page.locator('tbody :checked').count(), 0)
  await press('Enter')
  await page.waitForURL(/\/emails\/[\w-]+$/)
  await page.waitForSelector('.why')
  await press('u')
  await page.waitForURL(/\/emails\?status=queued$/)
  await press('g', 'c')
  await page.waitForSelector('h1:text-is("Contacts")')
  await press('n')
  await page.keyboard.type('jog@acme.org')
  t.equal(await page.inputValue('#email'), 'jog@acme.org', 'keys do nothing in fields')
  await page.locator('h1').click()
  await press('?')
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.uncheck('#shortcuts-on')
  await press('Escape')
  await page.waitForSelector('dialog', { state: 'hidden' })
  await page.reload()
  await press('/', '?')
  t.equal(await page.locator('dialog').isVisible(), false)
  t.strictSame(faults, [])
})

t.test('a webhook is tested, and a failed delivery is shown and replayed', async t => {
  const work = openWork(t, world, sink.url)
  const page = await dashboard.signIn('owner')
  await page.goto('/webhooks')
  await page.fill('#endpoint', hook.url)
  await page.fill('#events', 'topic.created')
  await page.click('button:text("Add webhook")')
  await page.click('a:text("Back to the webhook")')
  hook.answer(500)
  await page.click('button:text("Send a test")')
  await page.waitForSelector('.notice:has-text("The test failed: ")')

  await api.request('POST', '/api/topics', { body: { name: 'Told', default_subscription: 'opt_in' } })
  work.webhooks.start()
  await hook.until(({ json }) => json.type === 'topic.created')
  await page.reload()
  await page.click('a:has-text("topic.created")')
  await page.waitForSelector('h1:text-is("topic.created")')
  t.match(await page.textContent('main'), /Attempts.*500.*Payload.*"Told"/s)
  hook.answer(200)
  await page.click('button:text("Replay")')
  await page.waitForSelector('.notice:has-text("Event replayed.")')
  const isDelivered = async () => {
    await page.reload()
    return (
      (await page.locator('tbody a:has-text("topic.created")').count()) > 0 &&
      (await page.locator('tr:has-text("topic.created") .badge.good').count()) > 0
    )
  }
  await waitUntil(isDelivered, 'the event is delivered')
})

t.test('a tab asks to sign in after signing out in another', async t => {
  const page = await dashboard.signIn('admin')
  const other = await page.context().newPage()
  await other.goto('/topics')
  await page.goto('/')
  await dashboard.signOut(page)
  await other.fill('#name', 'Not stored')
  await other.click('button:text("Create")')
  await other.waitForSelector('h1:text("Sign in")')
  const { body } = await api.request('GET', '/api/topics')
  t.notOk(body.data.some(({ name }: { name: string }) => name === 'Not stored'))
})

t.test('members sign in over plain http on a private network', async t => {
  const site = api.url.replace('127.0.0.1', 'mail.lan')
  world.config.BASE_URL = site
  t.teardown(() => {
    world.config.BASE_URL = api.url
  })
  const page = await dashboard.signInByForm('owner', { baseURL: site })
  t.equal(await page.evaluate('isSecureContext'), false)
  await page.goto('/topics')
  await page.fill('#name', 'Of the network')
  await page.click('button:text("Create")')
  await page.waitForSelector('th a:text("Of the network")')
  await page.goto(`/domains/${account.domain_id}`)
  await page.waitForFunction('globalThis.Turbo')
  await page.waitForSelector('time[title]')
  t.equal(await page.locator('[data-copy]:visible').count(), 0, 'no copy buttons, since the browser has no clipboard')
})
