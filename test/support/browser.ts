import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { ROOT } from './root.ts'

/** Opens a browser, closed at the end of the test. */
export async function openBrowser(t: Pick<Test, 'teardown'>): Promise<Browser> {
  const browser = await launchBrowser()
  t.teardown(() => browser.close())
  return browser
}

/** Starts a real Chromium. The package has one for Linux on x64; on other systems CHROMIUM_PATH names one. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await unpackChromium())
  // Without a sandbox, since it also runs as root. mail.lan resolves to this machine, like its name in a local network: no secure context.
  const args = ['--no-sandbox', '--host-resolver-rules=MAP mail.lan 127.0.0.1']
  return chromium.launch({ executablePath, args })
}

/** Removed with the package when another version is installed. */
const CACHE = join(ROOT, 'node_modules/.cache')
const UNPACKED = join(CACHE, 'chromium')

/**
 * Unpacks Chromium unless another test has done so; returns the path of the program. The package unpacks directly into the
 * directory for temporary files, where a second test might start a half-written program: here it appears complete.
 */
async function unpackChromium(): Promise<string> {
  const program = join(UNPACKED, 'chromium')
  if (existsSync(program)) return program
  await mkdir(CACHE, { recursive: true })
  const { TMPDIR } = process.env
  const directory = await mkdtemp(`${UNPACKED}-`)
  process.env.TMPDIR = directory
  try {
    await sparticuz.executablePath()
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
  await rename(directory, UNPACKED).catch(async error => {
    if (error.code !== 'ENOTEMPTY') throw error
    await rm(directory, { recursive: true })
  })
  return program
}

/** The smallest build, since it is sent to the browser for each page. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Returns the violations of WCAG 2.2 AA that axe finds on a page, as `rule: selector`. */
export async function findAccessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async rules => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run({ runOnly: rules })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`))
  }, RULES)
}
