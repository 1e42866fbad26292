import { z } from 'zod'
import { type AskedMetrics, answerMetrics } from '#flows/sending/metrics/read_metrics.ts'
import { METRICS } from '#lib/sending/metrics/names.ts'
import { sql } from '#sql/pool.ts'
import { openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const SAMPLES = 15
const GOAL_MS = 300
const DAYS = 90
const DAY = 86_400_000

const ask = (dimensions: AskedMetrics['dimensions'], more: Partial<AskedMetrics> = {}): AskedMetrics => ({
  start: { at: new Date(Date.now() - DAYS * DAY) },
  end: undefined,
  timezone: 'Europe/Berlin',
  granularity: 'daily',
  metrics: [...METRICS],
  dimensions,
  domain_ids: undefined,
  email_ids: undefined,
  campaign_ids: undefined,
  ...more,
})

const cases: Record<string, AskedMetrics> = {
  totals: ask([]),
  'by day': ask(['period']),
  'by hour': ask(['period'], { granularity: 'hourly' }),
  'by domain': ask(['domain']),
  'by campaign': ask(['broadcast']),
  'by day and domain': ask(['period', 'domain']),
  'by day and campaign': ask(['period', 'broadcast']),
  'by domain and campaign': ask(['domain', 'broadcast']),
  'a week by hour': ask(['period'], { start: { at: new Date(Date.now() - 7 * DAY) }, granularity: 'hourly' }),
}

/** How long GET /emails/metrics takes over 90 days of 10 million emails in 5 domains and 60 campaigns. */
export async function benchMetrics(): Promise<void> {
  const stage = await openStage()
  try {
    const { id } = await stage.pool.one(sql.type(z.object({ id: z.string() }))`SELECT id FROM accounts`)
    const { count } = await fill(stage, id)
    console.log(`  ${count.toLocaleString('en')} rows`)
    for (const [name, asked] of Object.entries(cases)) await measure(stage, id, name, asked)
  } finally {
    await stage.close()
  }
}

async function measure({ pool }: Stage, account_id: string, name: string, asked: AskedMetrics): Promise<void> {
  const times: number[] = []
  for (let n = 0; n < SAMPLES; n++) {
    const start = performance.now()
    await answerMetrics(pool, account_id, asked)
    times.push(performance.now() - start)
  }
  const [best, p50, p95] = [Math.min(...times), percentile(times, 0.5), percentile(times, 0.95)]
  report(
    name,
    `best ${best.toFixed(0)} ms, p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`,
    `p50 <= ${GOAL_MS} ms`,
    p50 <= GOAL_MS,
  )
}

/** Each campaign sends on one day and is opened for ten more. */
async function fill({ pool }: Stage, account_id: string): Promise<{ count: number }> {
  await pool.run(sql.unsafe`
    WITH domains AS (
      SELECT gen_random_uuid() AS id FROM generate_series(1, 5)
    ), campaigns AS (
      SELECT gen_random_uuid() AS id, d.id AS domain_id, now() - make_interval(days => n) AS began
      FROM generate_series(1, ${DAYS}) AS n CROSS JOIN LATERAL (SELECT id FROM domains ORDER BY id OFFSET n % 5 LIMIT 1) d
      WHERE n % 3 <> 0
    ), written AS (
      SELECT q, d.id AS domain_id, nil_id() AS campaign_id FROM domains d
      CROSS JOIN generate_series(quarter_of(now() - interval '90 days'), now(), '15 minutes') q
      UNION ALL
      SELECT q, c.domain_id, c.id FROM campaigns c
      CROSS JOIN generate_series(quarter_of(c.began), least(c.began + interval '11 days', now()), '15 minutes') q
    )
    INSERT INTO email_metrics (account_id, quarter, domain_id, campaign_id, shard, sent, delivered, opened, unique_opened)
    SELECT ${account_id}, w.q, w.domain_id, w.campaign_id, s.shard, 230 / s.shards, 228 / s.shards, 90 / s.shards, 60 / s.shards
    FROM written w
    -- Quarters that are older than an hour are folded.
    CROSS JOIN LATERAL (
      SELECT n AS shard, CASE WHEN w.q < now() - interval '2 hours' THEN 1 ELSE 8 END AS shards FROM generate_series(0, 8) n
      WHERE (n = 0) = (w.q < now() - interval '2 hours')
    ) s
  `)
  await pool.run(sql.unsafe`VACUUM ANALYZE email_metrics`)
  return pool.one(sql.type(z.object({ count: z.int() }))`SELECT count(*) FROM email_metrics`)
}
