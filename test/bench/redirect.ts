import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { writeLinkToken, writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import { interleave, openStage, report, type Stage } from '#test/bench/support/stage.ts'
import { fillTrackedCampaign } from '#test/bench/support/tracked_campaign.ts'
import { ROOT } from '#test/support/root.ts'
import { waitUntil } from '#test/support/wait_until.ts'

const RECIPIENTS = 20_000
const LINKS = 10
const [WEB_PORT, BARE_PORT] = ['4701', '4702']

/** Redirects per second, verified and with recorded clicks, compared with Koa alone. */
export async function benchRedirect(): Promise<void> {
  const stage = await openStage()
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-bench-'))
  try {
    const file = join(directory, 'paths')
    const paths = await makePaths(stage)
    await writeFile(file, paths.join('\n'))
    // Links without a recipient are verified and redirected, with nothing to record.
    const uncounted = join(directory, 'uncounted')
    await writeFile(uncounted, paths.map(path => `${path}x`).join('\n'))
    await stage.spawn('workers/web.ts', { PORT: WEB_PORT })
    await stage.spawn('test/bench/support/bare_redirect.ts', { PORT: BARE_PORT })
    await follow(WEB_PORT, file)
    await waitForRecorder(stage)
    const figures = await interleave({
      'tracked links': async () => {
        const rate = await follow(WEB_PORT, file)
        // Hits that still wait would slow down the others.
        await waitForRecorder(stage)
        return rate
      },
      'links without a recipient': () => follow(WEB_PORT, uncounted),
      'Koa alone': () => follow(BARE_PORT, file),
    })
    for (const [name, what] of [
      ['tracked links', 'redirects, with clicks recorded'],
      ['links without a recipient', 'redirects alone'],
    ] as const) {
      const ratio = figures[name] / figures['Koa alone']
      report(what, `${ratio.toFixed(2)} of bare Koa`, '>= 0.6', ratio >= 0.6)
    }
    console.log(`  ${await countHits(stage)} clicks were recorded`)
  } finally {
    await stage.close()
    await rm(directory, { recursive: true })
  }
}

async function makePaths(stage: Stage): Promise<string[]> {
  const tracked = await fillTrackedCampaign(stage.pool, RECIPIENTS)
  const keys = await createReadTokenKeys(stage)()
  return tracked.map(({ source_id, ...recipient }, n) => {
    const link = { source_id, link: n % LINKS, url: `https://acme.com/${n % LINKS}?utm_source=news` }
    return `/t/c/${writeLinkToken(link, keys)}/${writeRecipientTokens(recipient, keys).click}`
  })
}

/** Returns when all hits are recorded. Up to 50,000 wait and more are dropped, with a log line, since Postgres is slower. */
async function waitForRecorder(stage: Stage): Promise<void> {
  const began = performance.now()
  let count = -1
  const isDone = async () => {
    await sleep(1_000)
    const before = count
    count = await countHits(stage)
    return count === before
  }
  await waitUntil(isDone, 'all waiting hits are recorded', 120_000)
  console.log(`           all recorded ${((performance.now() - began) / 1_000 - 2).toFixed(0)} s later`)
}

async function countHits({ pool }: Stage): Promise<number> {
  const { rows } = await pool.pg.query('SELECT count(*)::integer AS count FROM tracking_hits')
  return rows[0].count
}

async function follow(port: string, file: string): Promise<number> {
  const env = { PATH: process.env.PATH, LOAD_PORT: port, LOAD_FILE: file }
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [join(ROOT, 'test/bench/support/follow_links.ts')], { env })
  return Number(stdout)
}
