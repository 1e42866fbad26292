import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContextOptions, Page } from 'playwright-core'
import t from 'tap'
import { LANGUAGES } from '#api/public/languages/index.ts'
import { startApi } from '#test/support/api.ts'
import { findAccessibilityFaults, openBrowser } from '#test/support/browser.ts'
import { shows } from '#test/support/shows.ts'
import { makeRecipient, makeTopic, readState } from '#test/support/unsubscribing.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const browser = await openBrowser(t)

const SMALL = { width: 320, height: 568 }
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body as unknown as Record<string, unknown>
const patch = (path: string, body: object) => api.request('PATCH', `/api${path}`, { body })
const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body

const news = await makeTopic(world, account, { name: 'News', description: 'Once a week.' })
const offers = await makeTopic(world, account, { name: 'Offers <b>&', default_subscription: 'opt_out' })
await makeTopic(world, account, { name: 'Hidden', visibility: 'private' })

/** A contact with an email, whose preferences page is open. */
async function open(
  t: { teardown: (end: () => Promise<void>) => void },
  address: string,
  options: BrowserContextOptions & { topic_id?: string } = {},
) {
  const { topic_id = null, ...browsing } = options
  const { id } = await post('/contacts', { email: address })
  const { path, email_id } = await makeRecipient(world, account, address, topic_id)
  const context = await browser.newContext(browsing)
  t.teardown(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', message => problems.push(message.text()))
  page.on('request', request => {
    if (new URL(request.url()).origin !== api.url) problems.push(request.url())
  })
  await page.goto(api.url + path)
  return { id, path, email_id, page, problems }
}

const press = (page: Page, name: string) =>
  Promise.all([page.waitForNavigation(), page.getByRole('button', { name, exact: true }).click()])
const statusOf = (page: Page) => page.getByRole('status').innerText()

t.test('a person without scripts unsubscribes with one click and can undo it', async t => {
  const { id, email_id, page, problems } = await open(t, 'ann@b.com', { javaScriptEnabled: false })
  t.equal(await page.getByRole('heading', { level: 1 }).innerText(), account.domain)
  t.ok(await page.getByText('Emails to a***@b.com').isVisible())
  t.equal(await page.getByText('ann@').count(), 0)

  await press(page, 'Unsubscribe from everything')
  t.equal(await statusOf(page), `You are unsubscribed. ${account.domain} will send you no more newsletters.`)
  shows(t, await get(`/contacts/${id}`), {
    unsubscribed: true,
    consents: [
      { topic_id: null, subscription: 'opt_out', how: 'page', source_id: email_id, client_address: '127.0.0.1' },
    ],
  })
  t.equal(await page.getByRole('checkbox', { checked: true }).count(), 0)

  await press(page, 'Undo')
  t.equal(await statusOf(page), 'You are subscribed again.')
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false })
  t.strictSame(problems, [])
})

t.test('a person chooses topics and undoes it', async t => {
  const { id, page } = await open(t, 'bob@b.com', { javaScriptEnabled: false })
  const choices = async () =>
    (
      await world.pool.pg.query(
        'SELECT topic_id, subscription FROM contact_topics WHERE contact_id = $1 ORDER BY topic_id',
        [id],
      )
    ).rows
  t.strictSame(
    await page
      .getByRole('checkbox')
      .evaluateAll(boxes => boxes.map(box => (box as unknown as { checked: boolean }).checked)),
    [true, false],
  )
  t.equal(await page.getByText('Hidden').count(), 0)
  t.ok(await page.getByText('Once a week.').isVisible())

  await press(page, 'Save')
  t.equal(await statusOf(page), 'Nothing was changed.')
  await page.getByRole('checkbox', { name: 'News' }).uncheck()
  await page.getByRole('checkbox', { name: 'Offers' }).check()
  await press(page, 'Save')
  t.equal(await statusOf(page), 'You will no longer get: News.\n\nYou will get: Offers <b>&.')
  t.strictSame(await choices(), [
    { topic_id: news, subscription: 'opt_out' },
    { topic_id: offers, subscription: 'opt_in' },
  ])
  await press(page, 'Undo')
  t.equal(await statusOf(page), 'You will no longer get: Offers <b>&.\n\nYou will get: News.')
  t.strictSame(await choices(), [
    { topic_id: news, subscription: 'opt_in' },
    { topic_id: offers, subscription: 'opt_out' },
  ])
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false })

  await press(page, 'Unsubscribe from everything')
  t.equal(
    await page.getByRole('checkbox').count(),
    0,
    'no topics are shown: a tick would not resubscribe to everything',
  )
  await press(page, 'Undo')
  t.equal(await page.getByRole('checkbox').count(), 2)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false })
})

t.test('a person unsubscribes from emails about one topic', async t => {
  const { id, page } = await open(t, 'cat@b.com', { topic_id: news })
  await press(page, 'Unsubscribe from emails like this one')
  t.equal(await statusOf(page), 'You will get no more emails like this one.')
  t.equal(await page.getByRole('checkbox', { name: 'News' }).isChecked(), false)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false })
  await press(page, 'Undo')
  t.equal(await statusOf(page), 'You will get emails like this one again.')
  t.equal(await page.getByRole('checkbox', { name: 'News' }).isChecked(), true)
})

t.test('a person who complained can opt out but not in', async t => {
  const { id, path, page } = await open(t, 'dan@b.com', { topic_id: news })
  await press(page, 'Unsubscribe from everything')
  await api.request('POST', '/api/suppressions', { body: { email: 'dan@b.com', reason: 'complaint' } })
  await page.goto(api.url + path)
  t.match(await statusOf(page), /You reported an email from .* as spam/)
  t.equal(await page.getByRole('button').count(), 0)
  t.strictSame(await findAccessibilityFaults(page), [])
  const forged = await fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ action: 'resubscribe' }) })
  t.match(await forged.text(), /as spam/)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
})

t.test('the preferences page is accessible in every language', async t => {
  for (const [tag, words] of Object.entries(LANGUAGES)) {
    const { page, problems } = await open(t, `${tag}@b.com`, { locale: tag, viewport: SMALL, topic_id: news })
    t.equal(await page.locator('html').getAttribute('lang'), tag)
    t.strictSame(await findAccessibilityFaults(page), [], tag)
    await page.getByRole('checkbox', { name: 'News' }).uncheck()
    await press(page, words.save)
    t.strictSame(await findAccessibilityFaults(page), [], `${tag}, saved`)
    await press(page, words.unsubscribe)
    t.equal(await statusOf(page), words.unsubscribed.replace('{sender}', account.domain))
    t.strictSame(await findAccessibilityFaults(page), [], `${tag}, unsubscribed`)
    const width = await page.evaluate('document.documentElement.scrollWidth')
    t.ok(Number(width) <= SMALL.width, 'nobody has to scroll sideways')
    await page.goto(`${api.url}/u/bad`)
    t.equal(await page.getByRole('heading', { level: 1 }).innerText(), words.bad_link)
    t.strictSame(await findAccessibilityFaults(page), [], `${tag}, bad link`)
    t.strictSame(
      problems.filter(text => !text.includes('404')),
      [],
    )
  }
})

t.test('texts of all languages have the same placeholders', async t => {
  const places = (text: string) => text.match(/\{\w+\}/g) ?? []
  for (const words of Object.values(LANGUAGES)) {
    for (const [name, text] of Object.entries(LANGUAGES.en as object)) {
      t.strictSame(places(words[name as keyof typeof words]), places(text), name)
    }
  }
})

t.test('buttons and checkboxes are large, and unsubscribing is visible first', async t => {
  for (let n = 0; n < 30; n++) await makeTopic(world, account, { name: `Topic ${n}`, domain_id: account.domain_id })
  const { page } = await open(t, 'eve@b.com', { viewport: SMALL, topic_id: news })
  const way_out = await page.getByRole('button', { name: 'Unsubscribe from everything' }).boundingBox()
  t.ok(way_out && way_out.y + way_out.height < SMALL.height)
  for (const target of await page.locator('button, label').all()) {
    const box = await target.boundingBox()
    t.ok(box && box.width >= 44 && box.height >= 44, await target.innerText())
  }
})

t.test('a person unsubscribes with the keyboard alone', async t => {
  const { id, page } = await open(t, 'fay@b.com')
  await page.keyboard.press('Tab')
  t.equal(await page.locator(':focus').innerText(), 'Unsubscribe from everything')
  t.not(await page.locator(':focus').evaluate('element => getComputedStyle(element).outlineStyle'), 'none')
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
  t.match(await statusOf(page), /You are unsubscribed/)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
})

t.test('opening the link in a browser with scripts changes nothing', async t => {
  const { path, page } = await open(t, 'gil@b.com', { topic_id: news })
  const state = await readState(world, account)
  for (let n = 0; n < 10; n++) await page.goto(api.url + path, { waitUntil: 'networkidle' })
  t.strictSame(await readState(world, account), state)
})

t.test('the preferences page shows the name, color and logo of the sender', async t => {
  const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
  const server = createServer((_, response) => response.setHeader('content-type', 'image/gif').end(pixel)).listen(0)
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const name = '<script>window.pwned = 1</script>Ann & Bob’s'
  const brand = { name, color: '#FFDD00', logo_url: `https://127.0.0.1:${port}/logo.gif?a="><b>` }
  t.equal((await patch(`/domains/${account.domain_id}`, { brand })).status, 200)
  const { page, problems } = await open(t, 'hal@b.com')
  t.equal(await page.getByRole('heading', { level: 1 }).innerText(), name)
  t.equal(await page.evaluate('window.pwned'), undefined)
  const src = await page.locator('img').getAttribute('src')
  t.equal(src, brand.logo_url)
  t.ok(
    problems.some(text => text.startsWith(`https://127.0.0.1:${port}/`)),
    'the policy lets the logo through',
  )
  t.strictSame(
    problems.filter(text => /Content Security/.test(text)),
    [],
  )
  t.strictSame(await findAccessibilityFaults(page), [], 'white on yellow is made readable')
})

t.test('each missing part of a brand is taken from the account', async t => {
  await patch(`/domains/${account.domain_id}`, { brand: { name: null, color: '#005500', logo_url: null } })
  await world.pool.pg.query(`UPDATE accounts SET brand_name = 'Acme Group', brand_color = '#550000' WHERE id = $1`, [
    account.id,
  ])
  const { page } = await open(t, 'ian@b.com')
  t.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Acme Group')
  t.match(await page.content(), /#005500/)
})

t.test('PATCH /domains/:id checks and stores the brand', async t => {
  const set = async (brand: unknown) => (await patch(`/domains/${account.domain_id}`, { brand })).body
  const shown = async () => (await get(`/domains/${account.domain_id}`)).brand
  await set({ name: 'Acme', color: '#AABBCC', logo_url: null })
  t.strictSame(await shown(), { name: 'Acme', color: '#aabbcc', logo_url: null })
  await set({ logo_url: 'https://acme.com/logo.png' })
  t.strictSame(await shown(), { name: 'Acme', color: '#aabbcc', logo_url: 'https://acme.com/logo.png' })
  for (const [brand, message] of [
    [{ color: 'red' }, '`brand.color` must be a color such as `#1a5fb4`.'],
    [{ logo_url: 'http://acme.com/logo.png' }, '`brand.logo_url` must be an https URL.'],
    [{ logo_url: 'https://acme.com;script-src *' }, '`brand.logo_url` must be an https URL.'],
    [{ name: 'a\nb' }, '`brand.name` must be one line of text.'],
  ] as const) {
    shows(t, await set(brand), { name: 'validation_error', message })
  }
  await set(null)
  t.strictSame(await shown(), { name: null, color: null, logo_url: null })
})
