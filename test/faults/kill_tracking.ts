import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '#test/faults/support/stage.ts'
import {
  BROWSER,
  makeCampaign,
  makeTracked,
  readFigures,
  type TrackedCampaign,
  type TrackedEmail,
} from '#test/support/tracking.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { Report, readOptions, runCampaign } from './campaign.ts'

/** The pause of each visitor: with more hits than Postgres can record they would wait longer. */
const PAUSE_MS = 20

/** A request that got a response, identified by its User-Agent. */
type Visit = { user_agent: string; answered_at: number }

/** `most_ms`: hits acknowledged longer ago must be recorded. A few statements take long on a busy machine. */
type Options = { kills: number; emails: number; visitors: number; most_ms: number }

/**
 * A web process is killed while recipients open and click. Only hits acknowledged shortly before are lost, and all figures equal
 * those of the recorded hits.
 */
export async function killTracking(stage: Stage, { kills, emails, visitors, most_ms }: Options): Promise<Report> {
  const report = new Report()
  const campaign = await makeCampaign(stage, stage.account)
  const tracked: TrackedEmail[] = []
  while (tracked.length < emails) {
    tracked.push(
      await makeTracked(stage, stage.account, { campaign, delivered_ago: 3_600, to: `n${tracked.length}@b.com` }),
    )
  }
  const paths = tracked.flatMap(({ open_path, click_paths }) => [open_path, ...click_paths])
  let [answered, lost, oldest] = [0, 0, 0]
  for (let n = 0; n < kills; n++) {
    const { visits, killed_at } = await visitAndKill(stage, paths, n, visitors)
    const recorded = await readUserAgents(stage)
    const ages = visits.filter(visit => !recorded.has(visit.user_agent)).map(visit => killed_at - visit.answered_at)
    answered += visits.length
    lost += ages.length
    oldest = Math.max(oldest, ...ages)
    report.expect(ages.length < visits.length, `kill ${n}: none of ${visits.length} visits is recorded`)
  }
  report.expect(oldest <= most_ms, `a lost hit was acknowledged ${oldest} ms before the kill`)
  report.note({
    kills,
    answered,
    lost,
    oldest_lost_ms: Math.round(oldest),
    figures: await readFigures(stage, campaign),
  })
  await compareFigures(stage, campaign, report)
  return report
}

async function visitAndKill(stage: Stage, paths: string[], round: number, visitors: number) {
  const { url, child } = await stage.startWeb({ LOG_LEVEL: 'info' })
  const visits: Visit[] = []
  let isDead = false
  const visit = async (visitor: number): Promise<void> => {
    for (let n = 0; !isDead; n++, await sleep(PAUSE_MS)) {
      const user_agent = `${BROWSER} Edg/142.${round}.${visitor}.${n}`
      const path = paths[Math.floor(Math.random() * paths.length)] as string
      const isAnswered = await fetch(url + path, { headers: { 'user-agent': user_agent }, redirect: 'manual' }).then(
        async response => (await response.arrayBuffer()) !== null,
        () => false,
      )
      if (isAnswered) visits.push({ user_agent, answered_at: performance.now() })
    }
  }
  const visiting = Promise.all(Array.from({ length: visitors }, (_, visitor) => visit(visitor)))
  await sleep(800 + Math.random() * 800)
  const killed_at = performance.now()
  child.kill('SIGKILL')
  isDead = true
  await Promise.all([child.ended, visiting])
  await waitUntil(async () => !(await isRecording(stage)), 'the last statement has ended')
  return { visits, killed_at }
}

async function isRecording({ pool }: Stage): Promise<boolean> {
  const { rowCount } = await pool.pg.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
       AND query LIKE '%record_hits(%'`,
  )
  return rowCount !== 0
}

async function readUserAgents({ pool }: Stage): Promise<Set<string>> {
  const { rows } = await pool.pg.query('SELECT user_agent FROM tracking_hits')
  return new Set(rows.map(row => row.user_agent))
}

/** Compares figures of the campaign and its recipients with those counted from the hits. */
async function compareFigures(stage: Stage, campaign: TrackedCampaign, report: Report): Promise<void> {
  const { rows } = await stage.pool.pg.query(
    `WITH hits AS (
       SELECT h.email_id, count(*) FILTER (WHERE h.type = 'open' AND h.class = 'human') AS opens,
         count(*) FILTER (WHERE h.type = 'click' AND h.class = 'human') AS clicks,
         count(*) FILTER (WHERE h.type = 'click' AND h.class = 'machine') AS machine_clicks
       FROM tracking_hits h GROUP BY h.email_id
     )
     SELECT sum(greatest(h.opens, (h.clicks > 0)::integer))::integer AS opened, sum(h.clicks)::integer AS clicked,
       (count(*) FILTER (WHERE h.clicks = 0 AND h.machine_clicks > 0))::integer AS machine_clicked, (count(*) FILTER (WHERE h.opens + h.clicks > 0))::integer AS unique_opened,
       (count(*) FILTER (WHERE h.clicks > 0))::integer AS unique_clicked,
       (count(*) FILTER (WHERE r.clicks <> h.clicks OR (r.first_opened_at IS NULL) <> (h.opens + h.clicks = 0)))::integer AS wrong
     FROM hits h JOIN campaign_recipients r USING (email_id)`,
  )
  const { wrong, ...counted } = rows[0]
  const figures: Record<string, number> = await readFigures(stage, campaign)
  for (const [name, count] of Object.entries(counted)) {
    report.expect((figures[name] ?? 0) === count, `${name} is ${figures[name]}, but there are ${count} hits`)
  }
  report.expect(wrong === 0, `${wrong} recipients have figures that differ from their hits`)
}

/** node test/faults/kill_tracking.ts [--kills 20] [--emails 500] [--visitors 16] [--most_ms 250] */
if (import.meta.main) {
  const options = readOptions({ kills: 20, emails: 500, visitors: 16, most_ms: 250 })
  await runCampaign('kill -9 of a web process while recipients open and click', stage => killTracking(stage, options))
}
