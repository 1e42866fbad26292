import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

/** A real Chromium. The package has one for Linux on x64; elsewhere CHROMIUM_PATH names another. */
export async function openBrowser(t: Pick<Test, 'teardown'>): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await sparticuz.executablePath())
  // Without a sandbox, since it also runs as root.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}

/** As small as there is one: it is sent to the browser for each page. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Returns what axe finds on a page against WCAG 2.2 AA, as `rule: selector`. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async rules => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run({ runOnly: rules })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`))
  }, RULES)
}
