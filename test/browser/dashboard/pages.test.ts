import type { Page } from 'playwright-core'
import t from 'tap'
import type { Role } from '#lib/members/roles.ts'
import { findAccessibilityFaults } from '#test/support/browser.ts'
import { openDashboard } from '#test/support/dashboard.ts'
import { findLayoutFaults } from '#test/support/layout_faults.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { compose, receive } from '#test/support/receiving.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount } from '#test/support/world.ts'
import { rooms } from '#web/pages/index.ts'

const HOSTILE = '"><img src=x onerror="pwned=1">evil 😀'
/** Contains a control character that reverses the text after it, which names must not have. */
const TURNED = `\u202E${HOSTILE}`

const branches = {
  steps: [
    { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
    {
      key: 'gold',
      type: 'condition',
      config: { type: 'rule', field: 'contact.first_name', operator: 'eq', value: HOSTILE },
    },
    { key: 'wait', type: 'delay', config: { duration: '1 day' } },
    { key: 'later', type: 'delay', config: { duration: '2 days' } },
  ],
  connections: [
    { from: 'start', to: 'gold' },
    { from: 'gold', to: 'wait', type: 'condition_met' },
    { from: 'gold', to: 'later', type: 'condition_not_met' },
    { from: 'wait', to: 'later' },
  ],
}

const dashboard = await openDashboard(t)
const { world, api, account } = dashboard
const work = openWork(t, world)
const ids = await fill()

/** Paths of the pages, with ids of the account's records. */
const paths = rooms
  .flatMap(({ pages }) => pages)
  .map(({ path }) => path.replace(':id', ids[path.split('/')[1] ?? ''] ?? '0'))
  .map(path => path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? '0'))

/** Gives the account a record for each page, with a name that contains markup. */
async function fill(): Promise<Record<string, string>> {
  const post = async (path: string, body: object) => {
    const { status, body: answer } = await api.request('POST', `/api${path}`, { body })
    if (status >= 400) throw new Error(`${path}: ${answer.message}`)
    return answer.id
  }
  const domain = account.domain
  const from = `Acme <hello@${domain}>`
  const poll = { question: HOSTILE, options: ['Yes', 'No'] }
  const content = { subject: HOSTILE, html: '<p>Hello</p>' }
  const segments = await post('/segments', { name: HOSTILE, domain })
  const contacts = await post('/contacts', { email: 'anna@acme.org', first_name: HOSTILE, domain })
  const emails = await post('/emails', { from, to: ['anna@acme.org'], poll, ...content, subject: TURNED })
  await deliverEmails(work, [emails])
  const webhooks = await post('/webhooks', { endpoint: 'https://hook.acme.com/', events: ['*'] })
  const topics = await post('/topics', { name: HOSTILE, description: HOSTILE, default_subscription: 'opt_in' })
  const { body: told } = await api.request('GET', `/api/webhooks/${webhooks}/events`)
  const events = await post('/events', { name: HOSTILE })
  await post('/events/send', { event: HOSTILE, email: 'anna@acme.org', domain, payload: { plan: HOSTILE } })
  const audiences = await post('/audiences', { name: HOSTILE, domain })
  const imports = await post('/contacts/imports', { csv: `email,${HOSTILE}\n${HOSTILE},1`, domain })
  const properties = await post('/contact-properties', { key: 'plan', type: 'string', fallback_value: HOSTILE })
  const automations = await post('/automations', { name: HOSTILE, domain, status: 'enabled', ...branches })
  const { text } = await api.request('GET', `/api/automations/${automations}`)
  const automation_run = await post(`/automations/${automations}/run`, { contact_id: contacts })
  const { body } = await api.request('GET', '/api/polls')
  await post('/suppressions', { email: `${'x'.repeat(60)}@${'y'.repeat(60)}.com` })
  const [log] = await waitUntil(async () => (await api.request('GET', '/api/logs')).body.data, 'the log has requests')
  const mail = { subject: TURNED, html: '<p>Hello</p>', attachments: [{ filename: TURNED, content: 'x' }] }
  return {
    ...{ logs: log?.id as string, operator: account.id },
    received: await receive(work, account, await compose({ from: { name: TURNED, address: 'ann@y.com' }, ...mail })),
    ...{ segments, contacts, emails, captured: emails, domains: account.domain_id, polls: body.data[0]?.id as string },
    ...{ audiences, imports, topics, events, 'contact-properties': properties },
    templates: await post('/templates', { name: HOSTILE, ...content }),
    campaigns: await post('/campaigns', { from, name: HOSTILE, segment_id: segments, ...content }),
    ...{
      automations,
      run_id: automation_run,
      step_id: JSON.parse(text).steps[1].id,
      webhooks,
      event_id: told.data[0]?.id as string,
    },
  }
}

const SCHEMES = { owner: 'light', view_only: 'dark' } as const

for (const role of ['owner', 'view_only'] satisfies Role[]) {
  t.test(`${role} can read every page, accessibly and without injected scripts`, async t => {
    const page = await dashboard.signIn(role, { colorScheme: SCHEMES[role] })
    await dashboard.world.pool.pg.query('UPDATE members SET is_operator = true')
    await page.setViewportSize({ width: 320, height: 800 })
    for (const path of paths.filter(path => !path.endsWith('/0'))) {
      const response = await page.goto(path)
      t.equal(response?.status(), 200, path)
      t.strictSame(await findAccessibilityFaults(page), [], path)
      t.strictSame(await findLayoutFaults(page), [], path)
      t.equal(await page.evaluate('globalThis.pwned'), undefined, path)
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${path} is as wide as a phone`)
      const forms = await page.locator('main form[method=post]').count()
      if (role === 'view_only' && path !== '/profile') t.equal(forms, 0, `${path} has no forms`)
    }
    t.strictSame(dashboard.faults.splice(0), [])
  })
}

t.test('the entry of a page in the navigation is in sight on a phone', async t => {
  const page = await dashboard.signIn('owner', { viewport: { width: 320, height: 800 } })
  for (const path of ['/', '/settings']) {
    await page.goto(path)
    const { x, width } = (await page.locator('nav [aria-current]').boundingBox()) as { x: number; width: number }
    t.ok(x >= 0 && x + width <= 320, path)
  }
})

t.test('pages with forms are accessible in the dark', async t => {
  const page = await dashboard.signIn('owner', { colorScheme: 'dark' })
  for (const path of paths.filter(path => /^\/(campaigns|automations|templates|domains)\/[^/]+$/.test(path))) {
    await page.goto(path)
    t.ok((await page.locator('main form[method=post]').count()) > 0, path)
    t.strictSame(await findAccessibilityFaults(page), [], path)
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    t.not(background, 'rgb(255, 255, 255)', path)
  }
})

t.test('lists break no words on a wide screen', async t => {
  const page = await dashboard.signIn('owner')
  for (const path of paths.filter(path => /^\/[^/]+$/.test(path))) {
    await page.goto(path)
    t.strictSame(await findLayoutFaults(page), [], path)
  }
})

t.test('admin gets the same pages as owner', async t => {
  const [owner, admin, viewer] = [
    await dashboard.signIn('owner'),
    await dashboard.signIn('admin'),
    await dashboard.signIn('view_only'),
  ]
  await dashboard.world.pool.pg.query('UPDATE members SET is_operator = true')
  // Except the page of members, on which only owners may choose the role of an owner.
  for (const path of paths.filter(path => !path.endsWith('/0') && path !== '/members')) {
    t.equal(await formOf(admin, path), await formOf(owner, path), path)
  }
  t.not(await formOf(viewer, '/topics'), await formOf(owner, '/topics'), 'pages of other roles differ')
})

/** The HTML of a page without numbers, ids and the name of the member. */
async function formOf(page: Page, path: string): Promise<string> {
  const response = await page.request.get(path, { headers: { accept: 'text/html' } })
  return (await response.text())
    .replaceAll(/owner|admin/gi, 'role')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'id')
    .replaceAll(/[\da-f]*\d[\da-f]*/gi, '0')
}

t.test('the command on each empty page does what the page says', async t => {
  const own = await newAccount(world)
  const page = await dashboard.open()
  const value = await sessionOf(world, (await newMember(world, own.id, 'owner')).id)
  await page.context().addCookies([{ name: 'mailbrook', value, url: api.url }])
  const commands = new Map<string, string>()
  for (const path of paths.filter(path => !/\/.+\//.test(path) && !/\/0$/.test(path))) {
    await page.goto(path)
    for (const text of await page.locator('.empty code').allTextContents()) {
      if (text.startsWith('curl ') && !text.includes(' -F ')) commands.set(path, text)
    }
  }
  t.ok(commands.size > 12, `${commands.size} commands`)
  for (const [path, command] of commands) {
    const [, method = 'GET', url = '', body] = /^curl (?:-X (\w+) )?(\S+)(?:.* -d '(.*)')?/s.exec(command) ?? []
    const given = body === undefined ? {} : { body: JSON.parse(body.replaceAll("'\\''", "'")) }
    const { status, text } = await api.request(method, new URL(url).pathname, { key: own.key, ...given })
    t.ok(status < 300, `${path}: ${status} ${text.slice(0, 200)}`)
  }
})

t.test('every form refuses view-only members', async t => {
  const page = await dashboard.signIn('view_only')
  for (const { path } of rooms.flatMap(({ actions }) => actions)) {
    if (path.startsWith('/profile')) continue
    const response = await page.request.post(path.replace(/:\w+/g, '0'), {
      headers: { origin: api.url, accept: 'text/html' },
      form: {},
    })
    t.equal(response.status(), 403, path)
    t.match(await response.text(), 'View-only members cannot make changes.')
  }
})

t.test('a form from another site is refused', async t => {
  const page = await dashboard.signIn('owner')
  const cases: Record<string, string>[] = [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.com' }]
  for (const headers of cases) {
    const response = await page.request.post('/topics', {
      headers: { accept: 'text/html', ...headers },
      form: { name: 'x' },
    })
    t.equal(response.status(), 403)
  }
})

t.test('a refused form keeps its input and names the field', async t => {
  const page = await dashboard.signIn('owner')
  await page.goto('/webhooks')
  await page.fill('#endpoint', 'https://hook.acme.com/x')
  await page.fill('#events', 'no.such.event')
  await page.click('button:text("Add webhook")')
  await page.waitForSelector('[role=alert]')
  t.match(await page.textContent('[role=alert] p'), /^`events/)
  t.equal(await page.inputValue('#endpoint'), 'https://hook.acme.com/x')
  await page.fill('#events', 'email.delivered')
  await page.click('button:text("Add webhook")')
  await page.waitForSelector('h1:text("Signing secret")')
})

t.test('a contact is added, unsubscribed and deleted without scripts', async t => {
  const signedIn = await dashboard.signIn('admin')
  const page = await dashboard.open({ javaScriptEnabled: false, storageState: await signedIn.context().storageState() })
  await page.goto('/contacts')
  await page.fill('#email', 'bob@acme.org')
  await page.click('button:text("Add contact")')
  t.equal(await page.textContent('h1'), 'bob@acme.org')
  await page.click('button:text("Unsubscribe")')
  t.match(await page.textContent('.notice'), 'Contact unsubscribed.')
  await page.click('summary:text("Delete")')
  await page.click('button:text("Delete")')
  t.match(await page.textContent('.notice'), 'Contact deleted.')
})
