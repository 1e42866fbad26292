import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'
import type { Foundation } from '#flows/process/run_process.ts'
import type { Role } from '#lib/members/roles.ts'
import { type Api, startApi } from './api.ts'
import { openBrowser } from './browser.ts'
import { newMember, PASSWORD, sessionOf } from './members.ts'
import { newAccount, openWorld, type TestAccount } from './world.ts'

/** A server with its dashboard, an account, and a browser. */
export type Dashboard = {
  world: Foundation
  account: TestAccount
  api: Api
  /** Opens an empty page, in a context where a new member with this role is signed in. */
  signIn(role: Role, options?: BrowserContextOptions): Promise<Page>
  /** Opens a page, and signs in a new member with this role by the form. */
  signInByForm(role: Role, options?: BrowserContextOptions): Promise<Page>
  /** Signs out the member of a page. */
  signOut(page: Page): Promise<void>
  /** Opens a page in which nobody is signed in. */
  open(options?: BrowserContextOptions): Promise<Page>
  /** Violations of the content security policy of pages, and errors of their scripts. */
  faults: string[]
}

export async function openDashboard(t: Test, environment: Record<string, string> = {}): Promise<Dashboard> {
  const world = await openWorld(t, { MAIL_TRANSPORT: 'capture', ...environment })
  const account = await newAccount(world)
  const api = await startApi(t, world, account.key)
  world.config.BASE_URL = api.url // the port was not known before
  const browser = await openBrowser(t)
  const faults: string[] = []
  const open: Dashboard['open'] = async options =>
    watch(await browser.newContext({ baseURL: api.url, ...options }), options?.baseURL ?? api.url, faults)
  const signIn: Dashboard['signIn'] = async (role, options) => {
    const page = await open(options)
    const value = await sessionOf(world, (await newMember(world, account.id, role)).id)
    await page.context().addCookies([{ name: 'mailbrook', value, url: options?.baseURL ?? api.url }])
    return page
  }
  const signInByForm: Dashboard['signInByForm'] = async (role, options) => {
    const { email } = await newMember(world, account.id, role)
    const page = await open(options)
    await page.goto('/login')
    await page.fill('[name=email]', email)
    await page.fill('[name=password]', PASSWORD)
    await page.click('button:text("Sign in")')
    await page.waitForSelector('h1:text("Overview")')
    return page
  }
  const signOut = async (page: Page) => {
    await page.click('summary')
    await page.click('button:text("Sign out")')
    await page.waitForSelector('h1:text("Sign in")')
  }
  return { world, account, api, signIn, signInByForm, signOut, open, faults }
}

async function watch(context: BrowserContext, url: string, faults: string[]): Promise<Page> {
  const page = await context.newPage()
  page.on('console', message => {
    // The console also reports responses that refuse a form.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(message.text())
  })
  page.on('pageerror', error => faults.push(String(error)))
  page.on('request', request => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
      faults.push(`a request to ${request.url()}`)
  })
  return page
}
