import { z } from 'zod'
import { sql, type Tx } from '#sql/pool.ts'
import type { CampaignId } from '../campaigns.ts'

const Count = z.object({ count: z.int() })

/** Makes a scheduled campaign a draft again. */
export async function unscheduleCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'draft', scheduled_at = NULL, begins_at = NULL, first_run_at = NULL, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Deletes a campaign whose runs were sent: lists no longer show it, nothing more of it is sent, and its reports stay. */
export async function hideCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'canceled', scheduled_at = NULL, begins_at = NULL, deleted_at = now(), updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Cancels a campaign: from this commit on, no email of it is stored or claimed (claimed_mail.sql). */
export async function cancelCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'canceled', paused_at = NULL, pause_reason = NULL, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/**
 * Pauses a campaign: its queued emails wait until it is resumed. `reason`: the reason if nobody requested the pause.
 */
export async function pauseCampaign(tx: Tx, { account_id, id }: CampaignId, reason: string | null): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'paused', paused_at = now(), pause_reason = ${reason}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await tx.run(sql.unsafe`
    UPDATE deliveries SET next_at = 'infinity', updated_at = now()
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND state = 'queued'
  `)
}

const Resumed = z.object({ status: z.enum(['queued', 'testing']) })

/**
 * Resumes a campaign: its queued emails are due again. Returns its new status, `testing` while its A/B test has no
 * winner.
 */
export async function resumeCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<'queued' | 'testing'> {
  const { status } = await tx.one(sql.type(Resumed)`
    UPDATE campaigns g SET paused_at = NULL, pause_reason = NULL, updated_at = now(),
      status = CASE WHEN g.ab_test IS NOT NULL AND EXISTS (
        SELECT FROM campaign_runs u
        WHERE u.account_id = g.account_id AND u.campaign_id = g.id AND u.run = 1 AND u.decided_variant IS NULL
          AND u.finished_at IS NULL
      ) THEN 'testing' ELSE 'queued' END
    WHERE account_id = ${account_id} AND id = ${id} RETURNING status
  `)
  await tx.run(sql.unsafe`
    UPDATE deliveries SET next_at = now(), resumed_at = now(), updated_at = now()
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND state = 'queued' AND next_at = 'infinity'
  `)
  return status
}

/**
 * Makes recipients of the newest run whose email failed pending again; returns how many. Their failed emails are kept,
 * and new ones take their places.
 */
export async function retryFailed(tx: Tx, { account_id, id }: CampaignId): Promise<number> {
  const { count } = await tx.one(sql.type(Count)`
    WITH failed AS MATERIALIZED ( -- otherwise Postgres may believe that the run is small, and compare every row with every other
      SELECT e.account_id, e.campaign_id, e.contact_id, e.campaign_run, e.id, e.domain_id, e.sent_at FROM emails e
      WHERE e.account_id = ${account_id} AND e.campaign_id = ${id} AND e.status = 'failed' AND e.campaign_run = (
        SELECT max(n.run) FROM campaign_runs n WHERE n.account_id = ${account_id} AND n.campaign_id = ${id})
    ), again AS (
      UPDATE campaign_recipients r SET state = 'p', email_id = NULL, due_at = now()
      FROM failed e
      WHERE r.account_id = e.account_id AND r.campaign_id = e.campaign_id AND r.contact_id = e.contact_id
        AND r.run = e.campaign_run AND r.email_id = e.id AND r.state = 'm'
      RETURNING r.run, r.variant, e.sent_at, e.id, e.domain_id
    ), counted_once AS ( -- the events that were counted, and which the new email may count again
      SELECT a.run, a.variant, a.domain_id, t.type, v.created_at
      FROM again a CROSS JOIN unnest(ARRAY['failed', 'delivery_delayed']) AS t(type) CROSS JOIN LATERAL (
        SELECT created_at FROM email_events v WHERE v.account_id = ${account_id} AND v.email_id = a.id AND v.type = t.type
        ORDER BY v.id LIMIT 1
      ) v
    ), measured AS ( -- subtracts them, as count_deliveries.sql subtracts a delivery that bounces later
      SELECT count_metrics(array_agg(ROW(${account_id}, NULL, o.domain_id, ${id}, o.created_at, o.type, -1)::metric_move))
      FROM counted_once o
    ), counted AS (
      SELECT count_campaigns(array_agg(ROW(${account_id}, ${id}, f.run, f.variant, f.name, -1)::campaign_move))
      FROM (
        SELECT run, variant, 'failed' AS name FROM again
        -- A failure that was reported later counts as sent too, and so will the new email.
        UNION ALL SELECT run, variant, 'sent' FROM again WHERE sent_at IS NOT NULL
        UNION ALL SELECT run, variant, 'delayed' FROM counted_once WHERE type = 'delivery_delayed'
      ) f
    )
    SELECT (SELECT count(*) FROM again) AS count, (SELECT count(*) FROM counted) AS counted,
      (SELECT count(*) FROM measured) AS measured
  `)
  return count
}

/** Reopens the newest run of a campaign. */
export async function reopenRun(tx: Tx, { account_id, id }: CampaignId): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'queued', sent_at = NULL, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await tx.run(sql.unsafe`
    UPDATE campaign_runs r SET finished_at = NULL, outcome = NULL
    WHERE account_id = ${account_id} AND campaign_id = ${id} AND run = (
      SELECT max(n.run) FROM campaign_runs n WHERE n.account_id = r.account_id AND n.campaign_id = r.campaign_id)
  `)
}
