import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { writeLinkToken, writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import { fillTrackedCampaign } from '#test/bench/support/tracked_campaign.ts'
import type { Child } from '#test/faults/support/child.ts'
import type { Stage } from '#test/faults/support/stage.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** `most_ms`: the limit for the response to each click. */
type Options = { rate: number; seconds: number; recipients: number; most_ms: number }

/** How Postgres goes away and returns, and how a web process connects to it. */
type Outage = { leave(): Promise<unknown>; come(): Promise<unknown>; environment?: Record<string, string> }

type Load = { statuses: Record<string, number>; p50: number; p99: number; p999: number; max: number; over_50: number }

/** Time to warm up: a new process responds more slowly. */
const BEFORE_MS = 2_000
const PATIENCE_MS = 180_000

/**
 * Postgres is stopped while recipients click. All of them are redirected at once; their clicks are recorded when it is back, or
 * are logged as lost if there were too many.
 */
export async function clickWithoutPostgres(stage: Stage, options: Options, outage: Outage): Promise<Report> {
  const report = new Report()
  const directory = await mkdtemp(join(tmpdir(), 'mailbrook-faults-'))
  try {
    const file = join(directory, 'paths')
    await writeFile(file, (await makePaths(stage, options.recipients)).join('\n'))
    const { url, child } = await stage.startWeb({ LOG_LEVEL: 'info', ...outage.environment })
    const load = stage.start('test/faults/support/paced_clicks.ts', {
      ...{ LOAD_PORT: new URL(url).port, LOAD_FILE: file, LOAD_RATE: `${options.rate}` },
      LOAD_WARM_MS: `${BEFORE_MS}`,
      LOAD_MS: `${options.seconds * 1_000 + 2 * BEFORE_MS}`,
    })
    await sleep(BEFORE_MS)
    await outage.leave()
    await sleep(options.seconds * 1_000)
    await outage.come()
    const { statuses, ...times } = JSON.parse(await load.says(/^\{"statuses"/, PATIENCE_MS)) as Load
    const answered = statuses[302] ?? 0
    report.note({ statuses, ...times, most_memory_mb: Math.round(child.memory('VmHWM') / 2 ** 20) })
    report.expect(Object.keys(statuses).join() === '302', 'not every click was redirected')
    report.expect(times.max <= options.most_ms, `the slowest click took ${times.max} ms`)
    const recorded = await waitForRest(stage, child, answered)
    report.note({ answered, recorded, told_as_lost: countLost(child) })
    const figures = await stage.pool.pg.query('SELECT sum(opens)::integer AS opens FROM campaign_recipients')
    report.expect(recorded > 0 && figures.rows[0].opens !== null, 'no clicks were counted')
    report.expect(
      recorded + countLost(child) === answered,
      `${recorded} of ${answered} clicks were recorded or logged as lost`,
    )
    const { code } = await child.stop()
    report.expect(code === 0, `the web process exited with ${code}`)
    return report
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function makePaths(stage: Stage, recipients: number): Promise<string[]> {
  const tracked = await fillTrackedCampaign(stage.pool, recipients)
  const keys = await createReadTokenKeys(stage)()
  return tracked.map(({ source_id, ...recipient }) => {
    const link = writeLinkToken({ source_id, link: 0, url: 'https://acme.com/0' }, keys)
    return `/t/c/${link}/${writeRecipientTokens(recipient, keys).click}`
  })
}

/** Returns how many clicks are recorded, once all are that the log does not report as lost. */
async function waitForRest({ pool }: Stage, child: Child, answered: number): Promise<number> {
  let recorded = 0
  const isDone = async () => {
    const { rows } = await pool.pg
      .query('SELECT count(*)::integer AS count FROM tracking_hits')
      .catch(() => ({ rows: [] }))
    recorded = rows[0]?.count ?? recorded
    return recorded + countLost(child) >= answered
  }
  await waitUntil(isDone, () => `${recorded} of ${answered} are recorded`, PATIENCE_MS).catch(() => {})
  return recorded
}

function countLost({ lines }: Child): number {
  const told = lines.filter(line => line.includes('hits of tracked emails are lost'))
  return told.reduce((sum, line) => sum + JSON.parse(line).count, 0)
}

/** node test/faults/click_without_postgres.ts [--rate 1000] [--seconds 60] [--recipients 20000] [--most_ms 50] */
if (import.meta.main) {
  const options = readOptions({ rate: 1_000, seconds: 60, recipients: 20_000, most_ms: 50 })
  await runCampaign('Postgres is stopped while recipients click', (stage, postgres) =>
    clickWithoutPostgres(stage, options, { leave: () => postgres.stop('SIGQUIT'), come: () => postgres.start() }),
  )
}
