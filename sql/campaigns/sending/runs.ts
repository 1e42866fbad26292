import { z } from 'zod'
import { WinnerMetric } from '#lib/campaigns/ab_test.ts'
import { Recurrence } from '#lib/campaigns/recurrence.ts'
import { addJob } from '#sql/jobs.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'

/** One sending of a campaign. */
export type RunId = { account_id: string; campaign_id: string; run: number }

/** Fields of a campaign from which its recipients are found and its emails made. */
const SentCampaign = z.object({
  domain_id: z.string(),
  audience_id: z.string().nullable(),
  segment_id: z.string().nullable(),
  topic_id: z.string().nullable(),
  sender: z.string(),
  reply_to: z.array(z.string()),
  subject: z.string(),
  content_id: z.string(),
  track_opens: z.boolean().nullable(),
  track_clicks: z.boolean().nullable(),
  pause_reason: z.string().nullable(),
  recurrence: Recurrence.nullable(),
  recurrence_every: z.int().nullable(),
  timezone: z.string(),
  first_run_at: z.date().nullable(),
  send_in_local_time: z.boolean(),
  skip_if_mailed_within_hours: z.int().nullable(),
  exclude_unengaged_days: z.int().nullable(),
})

const Run = SentCampaign.extend({
  account_id: z.string(),
  campaign_id: z.string(),
  run: z.int(),
  /** Null if it was sent at once. */
  scheduled_at: z.date().nullable(),
  has_domain: z.boolean(),
  /** The party whose sending is paused until the operator resumes it. */
  paused: z.enum(['platform_paused', 'account_paused', 'domain_paused']).nullable(),
  poll_id: z.string().nullable(),
  /** The last contact that was looked at; null: none yet. */
  cursor: z.string().nullable(),
  is_found: z.boolean(),
  /** Its A/B test, with the number of its variants. */
  ab_test: z
    .object({ test_percentage: z.int(), winner_metric: WinnerMetric, wait_hours: z.int(), variants: z.int() })
    .nullable(),
  /** Seconds until the winner is chosen; null: not known yet. */
  decides_in: z.number().nullable(),
  decided_variant: z.int().nullable(),
  /** Figures when its bounces and complaints were last judged. */
  judged: z.record(z.string(), z.int()),
})
export type Run = z.infer<typeof Run>

type Campaign = Pick<RunId, 'account_id' | 'campaign_id'>

/**
 * Locks the latest run of a campaign that is being sent. Null if it is not being sent, or another worker has the run.
 * Until the transaction ends, the campaign cannot be paused or canceled.
 */
export async function lockRun(tx: Tx, { account_id, campaign_id }: Campaign): Promise<Run | null> {
  const run = await tx.maybeOne(sql.type(Run)`
    SELECT g.account_id, g.id AS campaign_id, u.run, g.domain_id, g.audience_id, g.segment_id, g.topic_id,
      coalesce(u.sender, g.sender) AS sender, coalesce(u.reply_to, g.reply_to) AS reply_to,
      coalesce(u.subject, g.subject) AS subject, g.content_id, g.track_opens, g.track_clicks, g.pause_reason,
      g.recurrence, g.recurrence_every, g.timezone, g.first_run_at, g.send_in_local_time, u.scheduled_at,
      g.skip_if_mailed_within_hours, g.exclude_unengaged_days, u.cursor, u.judged,
      u.found_at IS NOT NULL AS is_found, u.decided_variant, extract(epoch FROM u.decide_at - now())::float AS decides_in,
      CASE WHEN g.ab_test IS NOT NULL AND u.run = 1 THEN
        g.ab_test - 'enabled' || jsonb_build_object('variants', jsonb_array_length(g.ab_test -> 'variants')) END AS ab_test,
      (SELECT p.id FROM polls p WHERE p.account_id = g.account_id AND p.campaign_id = g.id) AS poll_id,
      EXISTS (SELECT FROM domains o WHERE o.account_id = g.account_id AND o.id = g.domain_id) AS has_domain,
      CASE WHEN (SELECT paused_at FROM platform) IS NOT NULL THEN 'platform_paused'
        WHEN EXISTS (SELECT FROM accounts a WHERE a.id = g.account_id AND a.paused_at IS NOT NULL) THEN 'account_paused'
        WHEN EXISTS (SELECT FROM domains o WHERE o.account_id = g.account_id AND o.id = g.domain_id AND o.paused_at IS NOT NULL)
          THEN 'domain_paused' END AS paused
    FROM campaigns g
    JOIN campaign_runs u ON u.account_id = g.account_id AND u.campaign_id = g.id AND u.run = (
      SELECT max(run) FROM campaign_runs m WHERE m.account_id = g.account_id AND m.campaign_id = g.id)
    WHERE g.account_id = ${account_id} AND g.id = ${campaign_id} AND g.status IN ('queued', 'testing')
      AND u.finished_at IS NULL
    FOR SHARE OF g FOR NO KEY UPDATE OF u SKIP LOCKED
  `)
  return run
}

/** Sets when the sweep considers the job of a run lost. */
export async function moveRun(tx: Tx, { account_id, campaign_id, run }: RunId, in_seconds: number): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_runs SET next_at = now() + make_interval(secs => ${in_seconds})
    WHERE account_id = ${account_id} AND campaign_id = ${campaign_id} AND run = ${run}
  `)
}

/** Stores why a campaign that is not paused sends nothing at the moment; null: it is sending again. */
export async function setWaitReason(
  tx: Tx,
  { account_id, campaign_id }: Campaign,
  reason: string | null,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET pause_reason = ${reason}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${campaign_id} AND pause_reason IS DISTINCT FROM ${reason}
  `)
}

export async function setJudged(
  tx: Tx,
  { account_id, campaign_id, run }: RunId,
  judged: Record<string, number>,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_runs SET judged = ${JSON.stringify(judged)}
    WHERE account_id = ${account_id} AND campaign_id = ${campaign_id} AND run = ${run}
  `)
}

/** Finds the account of a campaign by id alone, for the operator. */
export async function findAccountOfCampaign(db: Queryable, id: string): Promise<string | null> {
  const found = await db.maybeOne(sql.type(z.object({ account_id: z.string() }))`
    SELECT c.account_id FROM accounts a
    CROSS JOIN LATERAL (SELECT account_id FROM campaigns WHERE account_id = a.id AND id = ${id} LIMIT 1) c
  `)
  return found?.account_id ?? null
}

/** Adds a job that sends a campaign; it replaces one that waits already. */
export async function addSendJob(db: Queryable, { account_id, campaign_id }: Campaign, in_seconds = 0): Promise<void> {
  await addJob(db, 'send_campaign', { account_id, campaign_id }, `send_campaign ${campaign_id}`, in_seconds)
}

const Due = z.object({ account_id: z.string(), campaign_id: z.string() })

/** Lists campaigns that are being sent, or were stopped midway, and whose job is overdue. */
export async function listDueRuns(db: Queryable, limit: number): Promise<z.infer<typeof Due>[]> {
  return db.any(sql.type(Due)`
    SELECT u.account_id, u.campaign_id FROM campaign_runs u
    JOIN campaigns g ON g.account_id = u.account_id AND g.id = u.campaign_id
    WHERE u.finished_at IS NULL AND u.next_at <= now() AND g.status IN ('queued', 'testing', 'canceled', 'failed')
    ORDER BY u.next_at LIMIT ${limit}
  `)
}
