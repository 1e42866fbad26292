import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { sentTo } from '../counts.ts'
import type { RunId } from './runs.ts'

type Campaign = Pick<RunId, 'account_id' | 'campaign_id'>

const Unfinished = z.object({ ahead: z.int(), deferred: z.int() })

/**
 * Counts the unfinished emails of a campaign, up to `limit`. `deferred`: a server has refused them for the moment, and their next
 * attempt is not due. `ahead`: all others.
 */
export async function countUnfinished(
  db: Queryable,
  { account_id, campaign_id }: Campaign,
  limit: number,
): Promise<z.infer<typeof Unfinished>> {
  return db.one(sql.type(Unfinished)`
    SELECT count(*) FILTER (WHERE NOT f.is_deferred) AS ahead, count(*) FILTER (WHERE f.is_deferred) AS deferred FROM (
      SELECT d.state = 'queued' AND d.attempt > 0 AND d.next_at > now() AS is_deferred FROM deliveries d
      WHERE d.account_id = ${account_id} AND d.campaign_id = ${campaign_id} AND d.state IN ('queued', 'sending') LIMIT ${limit}
    ) f
  `)
}

const Share = z.object({ is_finished: z.boolean() })

/** Returns true if at least half of the emails of a campaign are finished. */
export async function isMostlyFinished(db: Queryable, { account_id, campaign_id }: Campaign): Promise<boolean> {
  const { is_finished } = await db.one(sql.type(Share)`
    SELECT count(*) FILTER (WHERE d.state IN ('queued', 'sending')) * 2 <= count(*) AS is_finished FROM deliveries d
    WHERE d.account_id = ${account_id} AND d.campaign_id = ${campaign_id}
  `)
  return is_finished
}

const Rest = z.object({
  has_pending: z.boolean(),
  next_in: z.number().nullable(),
  has_unfinished: z.boolean(),
  is_active: z.boolean(),
})

/**
 * Finds what is left of a run: recipients without an email, and unfinished emails. An email in doubt that is held for a
 * person counts as finished. `is_active`: an email is being sent or due now. `next_in`: seconds until the next
 * recipient is due in its time zone.
 */
export async function findRest(db: Queryable, { account_id, campaign_id, run }: RunId): Promise<z.infer<typeof Rest>> {
  const ofCampaign = sql.fragment`d.account_id = ${account_id} AND d.campaign_id = ${campaign_id}`
  const ofRun = sql.fragment`
    r.account_id = ${account_id} AND r.campaign_id = ${campaign_id} AND r.run = ${run} AND r.state = 'p'`
  return db.one(sql.type(Rest)`
    SELECT EXISTS (
      SELECT FROM campaign_recipients r
      WHERE ${ofRun}
    ) AS has_pending, (
      SELECT extract(epoch FROM min(r.due_at) - now())::float FROM campaign_recipients r
      WHERE ${ofRun} AND r.due_at > now() AND r.due_at < 'infinity'
    ) AS next_in, EXISTS (
      SELECT FROM deliveries d
      WHERE ${ofCampaign} AND (d.state IN ('queued', 'sending') OR d.state = 'in_doubt' AND d.next_at IS NOT NULL)
    ) AS has_unfinished, EXISTS (
      SELECT FROM deliveries d
      WHERE ${ofCampaign} AND (d.state = 'sending' OR d.state = 'queued' AND d.next_at <= now())
    ) AS is_active
  `)
}

export async function endRun(
  tx: Tx,
  { account_id, campaign_id, run }: RunId,
  status: 'sent' | 'failed',
  error: string | null = null,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = ${status}, error = ${error}, pause_reason = NULL, updated_at = now(),
      sent_at = CASE WHEN ${status} = 'sent' THEN now() END
    WHERE account_id = ${account_id} AND id = ${campaign_id}
  `)
  if (status === 'sent') await closeRun(tx, { account_id, campaign_id, run })
}

/** Stores how many runs were due before this one ended. */
export async function setSkipped(tx: Tx, { account_id, campaign_id, run }: RunId, skipped: number): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_runs SET skipped = ${skipped}
    WHERE account_id = ${account_id} AND campaign_id = ${campaign_id} AND run = ${run}
  `)
}

/**
 * Closes a run that has nothing left to do. It keeps the status of its campaign, whose count of recipients then
 * excludes those left out.
 */
export async function closeRun(tx: Tx, { account_id, campaign_id, run }: RunId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaign_runs u SET finished_at = now(), outcome = g.status FROM campaigns g
    WHERE u.account_id = ${account_id} AND u.campaign_id = ${campaign_id} AND u.run = ${run}
      AND g.account_id = u.account_id AND g.id = u.campaign_id
  `)
  await tx.run(sql.unsafe`
    UPDATE campaigns g SET recipients_count = ${sentTo(sql.fragment`g.account_id, g.id, ${run}`)}
    WHERE g.account_id = ${account_id} AND g.id = ${campaign_id}
  `)
}
