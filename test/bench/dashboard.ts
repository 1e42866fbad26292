import pg from 'pg'
import type { Browser } from 'playwright-core'
import { z } from 'zod'
import { indexEmails } from '#flows/sending/index_emails.ts'
import { sql } from '#sql/pool.ts'
import { addProperties, dropIndexes, fillContacts } from '#test/bench/support/many_contacts.ts'
import { fillEmails } from '#test/bench/support/many_emails.ts'
import { median, openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'
import { launchBrowser } from '#test/support/browser.ts'
import { newMember, sessionOf } from '#test/support/members.ts'

const PORT = '4602'
const URL = `http://127.0.0.1:${PORT}`
const CONTACTS = Number(process.env.BENCH_CONTACTS ?? 1_000_000)
const PEOPLE = 'people.bench.com'
const SAMPLES = 50
const GOAL_MS = 200
const VISITS = 5
const FIRST_CONTENT_MS = 1_000

/** A slow phone: a quarter of the speed of this processor, 75 ms round trip, 1.6 Mbit/s. */
const SLOW = {
  cpu: 4,
  network: { offline: false, latency: 75, downloadThroughput: 200_000, uploadThroughput: 100_000 },
}

const PATHS = [
  '/',
  '/emails',
  '/emails?status=complained',
  '/emails?q=invoice',
  `/contacts?domain=${PEOPLE}`,
  `/contacts?domain=${PEOPLE}&email_contains=77`,
  ...['/received', '/suppressions', '/logs', '/campaigns', '/segments', '/imports', '/webhooks', '/audit-log'],
]

/** How long pages of the dashboard take with a million emails and a million contacts. */
export async function benchDashboard(): Promise<void> {
  const stage = await openStage()
  try {
    const { id } = await stage.pool.one(sql.type(z.object({ id: z.string() }))`SELECT id FROM accounts`)
    await fill(stage, id)
    await stage.spawn('workers/web.ts', { PORT, BASE_URL: URL })
    const member = await newMember(stage, id, 'owner')
    const token = await sessionOf(stage, member.id)
    for (const path of PATHS) await measurePage(path, token)
    await measureFirstContent(token)
  } finally {
    await stage.close()
  }
}

async function fill(stage: Stage, account_id: string): Promise<void> {
  const client = new pg.Client(stage.config.DATABASE_URL) // without the statement timeout of the pool
  await client.connect()
  await fillEmails(client, account_id)
  await indexEmails(stage.pool)
  await addProperties(stage.pool, account_id)
  const makeIndexes = await dropIndexes(stage.pool)
  await fillContacts(stage, account_id, PEOPLE, CONTACTS)
  await makeIndexes()
  await client.end()
}

async function measurePage(path: string, token: string): Promise<void> {
  const headers = { cookie: `mailbrook=${token}`, accept: 'text/html' }
  const times: number[] = []
  for (let n = 0; n < SAMPLES; n++) {
    const start = performance.now()
    const answer = await fetch(URL + path, { headers, redirect: 'error' })
    await answer.text()
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`)
    times.push(performance.now() - start)
  }
  const [p50, p95] = [percentile(times, 0.5), percentile(times, 0.95)]
  report(path, `p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`, `p95 < ${GOAL_MS} ms`, p95 < GOAL_MS)
}

/** Times the first visit of a browser with an empty cache. */
async function measureFirstContent(token: string): Promise<void> {
  const browser = await launchBrowser()
  try {
    const times: number[] = []
    for (let n = 0; n < VISITS; n++) times.push(await visit(browser, token))
    const ms = median(times)
    const goal = `< ${FIRST_CONTENT_MS} ms`
    report('first rows of /emails on a slow phone', `${ms.toFixed(0)} ms`, goal, ms < FIRST_CONTENT_MS)
  } finally {
    await browser.close()
  }
}

async function visit(browser: Browser, value: string): Promise<number> {
  const context = await browser.newContext()
  await context.addCookies([{ name: 'mailbrook', value, url: URL }])
  const page = await context.newPage()
  const client = await context.newCDPSession(page)
  await client.send('Network.enable')
  await client.send('Network.emulateNetworkConditions', SLOW.network)
  await client.send('Emulation.setCPUThrottlingRate', { rate: SLOW.cpu })
  const start = performance.now()
  await page.goto(`${URL}/emails`, { waitUntil: 'commit' })
  await page.waitForSelector('tbody tr')
  const ms = performance.now() - start
  await context.close()
  return ms
}
