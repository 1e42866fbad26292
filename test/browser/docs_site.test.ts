import { globSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startApi } from '#test/support/api.ts'
import { findAccessibilityFaults, openBrowser } from '#test/support/browser.ts'
import { ROOT } from '#test/support/root.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { GROUPS } from '#web/docs/contents.ts'

// 40 pages take longer than the 30 s of tap on a busy machine.

const world = await openWorld(t)
const api = await startApi(t, world, (await newAccount(world)).key)
const browser = await openBrowser(t)

const NARROW = { width: 320, height: 640 }
/** Pages of each kind, which are also checked in dark mode. */
const KINDS = ['/docs', '/docs/sending', '/docs/api/emails', '/docs/search?q=retry', '/docs/nowhere']

type Opened = { page: Page; messages: string[]; foreign: string[] }

/** A page, with its console messages and its requests to other servers. */
async function openPage(colorScheme: 'light' | 'dark'): Promise<Opened> {
  const context = await browser.newContext({ viewport: NARROW, colorScheme })
  const page = await context.newPage()
  const messages: string[] = []
  const foreign: string[] = []
  page.on('console', message => messages.push(message.text()))
  page.on('pageerror', error => messages.push(error.message))
  page.on('request', request => {
    if (new URL(request.url()).origin !== api.url && !request.url().startsWith('data:')) foreign.push(request.url())
  })
  return { page, messages, foreign }
}

type Seen = { ids: string[]; links: string[]; h1: number; scripts: number; width: number; background: string }
const seen = new Map<string, Seen>()

/** Headings, ids, links and the width of a page. Runs in the browser. */
const LOOK = `(() => {
  const all = selector => Array.from(document.querySelectorAll(selector))
  return {
    h1: all('h1').length,
    ids: all('[id]').map(({ id }) => id),
    links: all('a').map(link => link.getAttribute('href')),
    scripts: all('script').length,
    width: document.scrollingElement.scrollWidth,
    background: getComputedStyle(document.body).backgroundColor,
  }
})()`

const { page, messages, foreign } = await openPage('light')

async function visit(t: Test, path: string): Promise<void> {
  await page.goto(api.url + path)
  const found = await page.evaluate<Seen>(LOOK)
  t.strictSame(await findAccessibilityFaults(page), [], 'no accessibility violations')
  shows(t, found, { h1: 1, scripts: 0, background: 'rgb(255, 255, 255)' })
  t.ok(found.width <= NARROW.width, `${found.width} px wide`)
  seen.set(path, found)
}

t.test('every page of the docs works in a narrow window and is accessible', async t => {
  await visit(t, '/docs')
  const paths = seen.get('/docs')?.links.filter(link => /^\/docs\/./.test(link)) ?? []
  t.ok(paths.length > 30, `${paths.length} pages`)
  for (const path of [...new Set(paths)]) await t.test(path, t => visit(t, path))
  for (const path of KINDS.filter(path => !seen.has(path))) await t.test(path, t => visit(t, path))
  t.strictSame(foreign, [], 'nothing is loaded from another server')
  // A page that does not exist.
  t.strictSame(messages, ['Failed to load resource: the server responded with a status of 404 (Not Found)'])
})

t.test('every link within the docs leads to a page and its heading', async t => {
  const wrong: string[] = []
  for (const [path, { links }] of seen) {
    for (const link of links) {
      const url = new URL(link, api.url + path)
      if (url.origin !== api.url) continue
      const target = seen.get(url.pathname) ?? (url.search ? seen.get(url.pathname + url.search) : undefined)
      const isThere = target ? !url.hash || target.ids.includes(url.hash.slice(1)) : (await fetch(url)).ok
      if (!isThere) wrong.push(`${path}: ${link}`)
    }
  }
  t.strictSame(wrong, [])
})

t.test('the docs are readable in dark mode', async t => {
  const { page } = await openPage('dark')
  for (const path of KINDS) {
    await page.goto(api.url + path)
    t.strictSame(await findAccessibilityFaults(page), [], path)
    t.not((await page.evaluate<Seen>(LOOK)).background, 'rgb(255, 255, 255)')
  }
})

t.test('search works without scripts, by keyboard', async t => {
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(`${api.url}/docs`)
  await page.getByRole('searchbox', { name: 'Search' }).fill('idempotency key')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/search\?q=/)
  t.match(await page.getByRole('status').innerText(), /^\d+ results? for/)
  await page.locator('.hits a').first().click()
  await page.waitForURL(/\/docs\/(?!search)/)
  t.equal(await page.locator('h1').count(), 1)
  await page.goto(`${api.url}/docs/search?q=${encodeURIComponent('<img src=x onerror=alert(1)> zzzzz')}`)
  t.equal(await page.getByRole('status').innerText(), 'No results for “<img src=x onerror=alert(1)> zzzzz”.')
})

t.test('each page of docs/ is in the table of contents', t => {
  const paths = GROUPS.flatMap(({ entries }) => entries).map(({ path }) => path)
  const files = globSync('docs/*.md', { cwd: ROOT }).filter(path => path !== 'docs/api.md')
  t.strictSame(paths.filter(path => path !== 'client/README.md').sort(), files.sort())
  t.end()
})
