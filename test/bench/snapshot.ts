import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '#lib/ids.ts'
import {
  ask,
  type CampaignStage,
  onCampaignStage,
  runReaches,
  startCampaign,
  startWorker,
} from '#test/bench/support/campaigns.ts'
import { inPatientSession } from '#test/bench/support/patient_session.ts'
import { type Child, median, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const RECIPIENTS = Number(process.env.BENCH_RECIPIENTS ?? 1_000_000)
const ROUNDS = 3
const GOAL_SECONDS = 60
const MOST_GROWTH = 50 * 2 ** 20
/** Emails sent before the decision of an A/B test and after it. */
const POSTS = 100
const AB_TEST = {
  test_percentage: 1,
  variants: [
    { key: 'A', subject: 'Red' },
    { key: 'B', subject: 'Blue' },
  ],
}

/** How fast a campaign finds a million recipients, and how soon they get the winner of its A/B test. */
export function benchSnapshot(): Promise<void> {
  return onCampaignStage(RECIPIENTS, async opened => {
    const { stage, latencies } = opened
    const worker = await startWorker(opened)
    const rounds: { found: number; inserted: number; growth: number }[] = []
    for (let n = 1; n <= ROUNDS; n++) {
      const inserted = await insertAtOnce(stage)
      const { seconds, growth } = await findRecipients(stage, worker)
      rounds.push({ found: seconds, inserted, growth })
      console.log(`  round ${n}  found in ${seconds.toFixed(1)} s, inserted at once in ${inserted.toFixed(1)} s`)
    }
    const seconds = median(rounds.map(({ found }) => found))
    report('snapshot', `${seconds.toFixed(1)} s`, `< ${GOAL_SECONDS} s`, seconds < GOAL_SECONDS)
    const ratio = median(rounds.map(({ found, inserted }) => inserted / found))
    report('snapshot', `${ratio.toFixed(2)} of one INSERT ... SELECT`, '>= 0.7', ratio >= 0.7)
    const growth = Math.max(...rounds.map(round => round.growth))
    const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`
    report(
      'memory of the snapshot',
      `grew by ${megabytes(growth)}`,
      `< ${megabytes(MOST_GROWTH)}`,
      growth < MOST_GROWTH,
    )
    await measureDecision(stage, latencies)
  })
}

/** The baseline: the same rows in one statement. */
async function insertAtOnce({ pool }: Stage): Promise<number> {
  await pool.pg.query('TRUNCATE campaign_recipients')
  return inPatientSession(pool, async run => {
    const start = performance.now()
    const text = `
      INSERT INTO campaign_recipients (account_id, campaign_id, run, contact_id, email, state, variant, due_at)
      SELECT account_id, $1, 1, id, email, 'p', 0, now() FROM contacts WHERE NOT unsubscribed ORDER BY id`
    await run(text, [newId()])
    return (performance.now() - start) / 1_000
  })
}

/** Seconds until a worker has found all recipients, and by how many bytes it grew after the first tenth of them. */
async function findRecipients(stage: Stage, worker: Child): Promise<{ seconds: number; growth: number }> {
  await stage.pool.pg.query('TRUNCATE campaign_recipients')
  const start = performance.now()
  const id = await startCampaign(stage)
  await runReaches(
    stage.pool,
    id,
    `(SELECT sum(count) FROM campaign_counts c
    WHERE c.campaign_id = campaign_runs.campaign_id AND c.name = 'recipients') >= ${RECIPIENTS / 10}`,
  )
  writeFileSync(`/proc/${worker.process.pid}/clear_refs`, '5') // resets the peak
  const before = memoryOf(worker, 'VmRSS')
  await runReaches(stage.pool, id, 'found_at IS NOT NULL')
  const seconds = (performance.now() - start) / 1_000
  const growth = memoryOf(worker, 'VmHWM') - before
  await ask(stage, 'POST', `/campaigns/${id}/pause`)
  await sleep(5_000) // until claimed emails are sent
  return { seconds, growth }
}

function memoryOf({ process: { pid } }: Child, field: 'VmRSS' | 'VmHWM'): number {
  return (
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
  )
}

/** Chooses the winner of a test: how long until it is chosen and until the rest is sent, and how much that delays other emails. */
async function measureDecision(stage: Stage, latencies: CampaignStage['latencies']): Promise<void> {
  const { pg } = stage.pool
  await pg.query('TRUNCATE campaign_recipients')
  const id = await startCampaign(stage, { ab_test: AB_TEST })
  await runReaches(stage.pool, id, 'decide_at IS NOT NULL')
  const before = await measurePosts(stage, latencies)
  const start = performance.now()
  await pg.query('UPDATE campaign_runs SET decide_at = now() WHERE campaign_id = $1', [id])
  await pg.query('UPDATE graphile_worker._private_jobs SET run_at = now() WHERE key = $1', [`send_campaign ${id}`])
  const decided = runReaches(stage.pool, id, 'decided_at IS NOT NULL').then(() => performance.now() - start)
  const sent = runReaches(
    stage.pool,
    id,
    `EXISTS (SELECT FROM campaign_recipients r
    WHERE r.campaign_id = campaign_runs.campaign_id AND r.sent_at > campaign_runs.decided_at)`,
  ).then(() => performance.now() - start)
  const after = await measurePosts(stage, latencies)
  const [decided_ms, sent_ms] = [await decided, await sent]
  const figure = `${decided_ms.toFixed(0)} ms, the first of the rest sent after ${sent_ms.toFixed(0)} ms`
  report('decision and sending of the rest', figure, '< 5,000 ms', sent_ms < 5_000)
  const p95 = percentile(after, 0.95)
  const times = `p95 ${p95.toFixed(0)} ms, most ${Math.max(...after).toFixed(0)}; before it p95 ${percentile(before, 0.95).toFixed(0)} ms`
  report('other emails after the decision', times, 'p95 < 150 ms', p95 < 150)
}

async function measurePosts(stage: Stage, latencies: CampaignStage['latencies']): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < POSTS; n++) {
    times.push(await latencies.measure(stage, 'elsewhere.com'))
    await sleep(10)
  }
  return times
}
