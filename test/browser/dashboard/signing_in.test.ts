import t from 'tap'
import { createSetupLink } from '#flows/members/member_links.ts'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'

const dashboard = await openDashboard(t)
const { world, account, api } = dashboard

t.test('the setup link creates the first member, who creates an API key shown once', async t => {
  const link = await createSetupLink(world, account.id)
  const page = await dashboard.open()
  await page.goto(link)
  t.strictSame(await findAccessibilityFaults(page), [])
  await page.fill('[name=email]', 'Ann@Acme.com')
  await page.fill('[name=name]', 'Ann')
  await page.fill('[name=password]', 'short')
  await page.click('button:text("Set up")')
  t.equal(await page.textContent('[role=alert] p'), '`password` must have at least 10 characters.')
  await page.fill('[name=password]', 'correct horse battery')
  await page.click('button:text("Set up")')
  await page.waitForSelector('h1:text("Overview")')
  t.equal((await page.goto(link))?.status(), 404, 'the link is used up')

  await page.goto('/api-keys')
  await page.fill('[name=name]', 'My key')
  await page.click('button:text("Create key")')
  const key = (await page.textContent('.copyable code')) as string
  t.match(key, /^mb_\w{49}$/)
  t.equal((await api.request('GET', '/api/emails', { key })).status, 200)
  await page.goto('/api-keys')
  await page.goBack().catch(() => null)
  t.notOk((await page.content()).includes(key), 'the back button does not show it again')

  await page.goto('/api-keys')
  await page.click('a:text("My key")')
  await page.click('summary:text("Revoke")')
  await page.click('button:text("Revoke")')
  await page.waitForSelector('text=API key revoked.')
  await page.goto('/audit-log')
  t.strictSame(await page.locator('tbody td code').allTextContents(), ['deleteApiKey', 'createApiKey'])
  t.strictSame(dashboard.faults, [])
})

t.test('a member signs in and out', async t => {
  const page = await dashboard.signInByForm('admin')
  t.match(await page.textContent('.axis'), 'highest: 0', 'nothing has been sent')
  t.strictSame(await findAccessibilityFaults(page), [])
  await dashboard.signOut(page)
  await page.goto('/members')
  t.match(page.url(), /\/login\?next=%2Fmembers$/)
})

t.test('a wrong password is refused, and after five attempts the right one too', async t => {
  const page = await dashboard.open()
  await page.goto('/login')
  const trial = async (password: string) => {
    await page.fill('[name=email]', 'ann@acme.com')
    await page.fill('[name=password]', password)
    const answered = page.waitForResponse(response => response.request().method() === 'POST')
    await page.click('button:text("Sign in")')
    return /role="alert".*?<p>(.*?)<\/p>/s.exec(await (await answered).text())?.[1]
  }
  for (let n = 0; n < 5; n++) t.equal(await trial(`wrong ${n}`), 'The address or the password is wrong.')
  t.match(await trial('correct horse battery'), /^Too many tries. Try again in \d+ seconds.$/)
})

t.test('a member adds a passkey, signs in with it once per challenge, and removes it', async t => {
  // Browsers do not support passkeys for IP addresses.
  const site = api.url.replace('127.0.0.1', 'localhost')
  world.config.BASE_URL = site
  t.teardown(() => {
    world.config.BASE_URL = api.url
  })
  const page = await dashboard.signIn('view_only', { baseURL: site })
  const client = await page.context().newCDPSession(page)
  await client.send('WebAuthn.enable')
  const authenticator = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...authenticator, hasUserVerification: true, isUserVerified: true },
  })
  await page.goto('/profile')
  await page.fill('#passkey-name', 'My laptop')
  await page.click('button:text("Add a passkey")')
  await page.waitForSelector('text=Passkey added.')
  t.strictSame(await findAccessibilityFaults(page), [])

  await dashboard.signOut(page)
  const posted = page.waitForRequest(request => request.method() === 'POST')
  await page.click('button:text("Use a passkey")')
  await page.waitForSelector('h1:text("Overview")')
  const answer = (await posted).postData() as string
  t.equal((await page.request.post('/login/passkey', replay(answer))).status(), 422, 'a response works only once')
  t.equal((await page.request.post('/login/passkey', replay('credential={}'))).status(), 422)

  await page.goto('/profile')
  await page.click('form[action*="passkeys"] button:text("Remove")')
  await page.waitForSelector('text=Passkey removed.')
  await dashboard.signOut(page)
  await page.click('button:text("Use a passkey")')
  t.match(await page.textContent('[role=alert] p'), 'The passkey is unknown')

  function replay(data: string) {
    return { data, headers: { 'content-type': 'application/x-www-form-urlencoded', origin: site, accept: 'text/html' } }
  }
})
