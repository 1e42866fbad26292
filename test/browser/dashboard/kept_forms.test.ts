import type { Page } from 'playwright-core'
import t from 'tap'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { newMember, PASSWORD, sessionOf } from '#test/support/members.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount } from '#test/support/world.ts'

const dashboard = await openDashboard(t)
const { world, account, api } = dashboard
const own = await newAccount(world)
const query = (text: string) => world.pool.pg.query(text)

/** Opens a page of a member of two accounts, in the second one. */
async function openSecond(javaScriptEnabled: boolean): Promise<[page: Page, email: string]> {
  const { id, email } = await newMember(world, account.id, 'owner')
  await world.pool.pg.query(`INSERT INTO memberships (member_id, account_id, role) VALUES ($1, $2, 'owner')`, [
    id,
    own.id,
  ])
  const page = await dashboard.open({ javaScriptEnabled })
  const value = await sessionOf(world, id)
  await world.pool.pg.query('UPDATE sessions SET account_id = $1 WHERE member_id = $2', [own.id, id])
  await page.context().addCookies([{ name: 'mailbrook', value, url: api.url }])
  return [page, email]
}

for (const hasScripts of [true, false]) {
  t.test(`a form submitted after the session has ended is there after signing in, scripts: ${hasScripts}`, async t => {
    const [page, email] = await openSecond(hasScripts)
    await page.goto('/topics')
    const name = `Añews & 100 % ${hasScripts}`
    await page.fill('main #name', name)
    await page.fill('#description', 'Line <one>')
    await page.selectOption('#visibility', { index: 1 })
    await query('DELETE FROM sessions')
    await page.click('main button:text-is("Create")')
    await page.waitForSelector('h1:text("Sign in")')
    t.equal(
      await page.textContent('[role=alert]'),
      'Your session has ended. Sign in again: then you get back the form with what you have typed.',
    )
    if (hasScripts) t.strictSame(await findAccessibilityFaults(page), [])

    await page.fill('[name=email]', email)
    await page.fill('[name=password]', 'wrong')
    await page.click('button:text("Sign in")')
    await page.waitForSelector('#problem')
    await page.fill('[name=password]', PASSWORD)
    await page.click('button:text("Sign in")')
    await page.waitForSelector('h1:text("Topics")')
    t.equal(await page.textContent('#problem p'), 'This form is not saved. Check it, and submit it again.')
    t.equal(await page.inputValue('main #name'), name)
    t.equal(await page.inputValue('#description'), 'Line <one>')
    await page.click('main button:text-is("Create")')
    await page.waitForSelector('.notice:text("Topic created.")')
    const { body } = await api.request('GET', '/api/topics', { key: own.key })
    shows(t, body.data[0], { name, description: 'Line <one>', visibility: 'private' })
  })
}

t.test('a file submitted after the session has ended is to be chosen again', async t => {
  const [page, email] = await openSecond(true)
  await page.goto('/imports')
  await page.setInputFiles('#file', { name: 'x.csv', mimeType: 'text/csv', buffer: Buffer.from('email\nann@y.com') })
  await query('DELETE FROM sessions')
  await page.click('main form[enctype] button')
  await page.waitForSelector('h1:text("Sign in")')
  t.match(await page.textContent('[role=alert]'), 'Your form could not be kept.')
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('button:text("Sign in")')
  await page.waitForSelector('h1:text("Imports")')
})

const failures = [
  ['53200', 503, 'The server is overloaded'],
  ['XX001', 500, 'The server failed'],
] as const
for (const [code, status, title] of failures) {
  t.test(`a form that fails with ${code} shows a page, which keeps what was typed`, async t => {
    const page = await dashboard.signIn('owner')
    await query(`CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '${code}'; END $$`)
    await query('CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON topics FOR EACH ROW EXECUTE FUNCTION fail()')
    await page.goto('/topics')
    await page.fill('main #name', `News ${code}`)
    const answered = page.waitForResponse(response => response.request().method() === 'POST')
    await page.click('main button:text-is("Create")')
    t.equal((await answered).status(), status)
    await page.waitForSelector(`h1:text-is("${title}")`)
    t.strictSame(await findAccessibilityFaults(page), [])
    await query('DROP TRIGGER fail ON topics')
    await page.click('button:text("Show the form again")')
    await page.waitForSelector('h1:text("Topics")')
    t.equal(await page.inputValue('main #name'), `News ${code}`)
    await page.click('main button:text-is("Create")')
    await page.waitForSelector('.notice:text("Topic created.")')
  })
}

t.test('a page that fails says so in HTML, and the API in JSON', async t => {
  const page = await dashboard.signIn('owner')
  await query('ALTER TABLE topics RENAME TO lost_topics')
  t.equal((await page.goto('/topics'))?.status(), 500)
  t.equal(await page.textContent('h1'), 'The server failed')
  t.strictSame(await findAccessibilityFaults(page), [])
  t.equal((await api.request('GET', '/api/topics')).body.name, 'internal_server_error')
  await query('ALTER TABLE lost_topics RENAME TO topics')
  await page.click('a:text("Try again")')
  await page.waitForSelector('h1:text("Topics")')
})

t.test('a form that cannot be sent says so, and an editor still asks before its changes are lost', async t => {
  const page = await dashboard.signIn('owner')
  const { body } = await api.request('POST', '/api/templates', { body: { name: 'Welcome', html: '<p>Hi</p>' } })
  await page.goto(`/templates/${body.id}`)
  await page.fill('main #subject', 'Hello')
  const isSave = (url: URL) => !url.pathname.endsWith('/preview')
  await page.route(isSave, route => (route.request().method() === 'POST' ? route.abort() : route.continue()))
  await page.click('main button:text-is("Save")')
  const alert = page.locator('main form [role=alert]')
  await alert.waitFor()
  t.equal(await alert.textContent(), 'The server did not respond. Check your connection, and try again.')
  const asked = page.waitForEvent('dialog').then(dialog => dialog.dismiss())
  await Promise.all([asked, page.click('nav a:text-is("Topics")')])
  await page.unroute(isSave)
  await page.click('main button:text-is("Save")')
  await page.waitForSelector('.notice:text("saved")')
  t.equal(await alert.count(), 0)
  t.match(dashboard.faults.splice(0).join(), 'Failed to fetch')
})

t.test('no page had errors', async t => t.strictSame(dashboard.faults, []))

t.test('a form opened at another address than BASE_URL names the right one', async t => {
  const page = await dashboard.open({ baseURL: api.url.replace('127.0.0.1', 'mail.lan') })
  await page.goto('/login')
  await page.fill('[name=email]', 'ann@acme.com')
  await page.fill('[name=password]', 'wrong')
  await page.click('button:text("Sign in")')
  await page.waitForSelector('h1:text("Request rejected")')
  t.equal(await page.getAttribute('main a', 'href'), api.url)
})
