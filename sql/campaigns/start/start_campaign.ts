import { z } from 'zod'
import { addJob } from '#sql/jobs.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Campaign, columns } from '../campaign_records.ts'
import type { CampaignId } from '../campaigns.ts'
import { addSendJob } from '../sending/runs.ts'

/** It waits for its time. A job looks for due campaigns at that moment; the sweep of each minute finds it without. */
export async function scheduleCampaign(tx: Tx, { account_id, id }: CampaignId, scheduled_at: Date): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'scheduled', scheduled_at = ${scheduled_at.toISOString()}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await addJob(tx, 'start_campaigns', {}, `start_campaigns ${id}`, scheduled_at)
}

/** `is_test`: it begins with an A/B test. */
export type Started = { content_id: string; subject: string; reply_to: string[]; is_test: boolean }

/** It is being sent from this commit on: run 1, with the job that finds its recipients. */
export async function startRun(tx: Tx, { account_id, id }: CampaignId, started: Started): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = ${started.is_test ? 'testing' : 'queued'}, content_id = ${started.content_id}, subject = ${started.subject},
      reply_to = ${sql.array(started.reply_to, 'text')}, started_at = now(), updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await tx.run(sql.unsafe`
    INSERT INTO campaign_runs (account_id, campaign_id, run) VALUES (${account_id}, ${id}, 1)
  `)
  await addSendJob(tx, { account_id, campaign_id: id })
}

const Due = z.object({ account_id: z.string(), id: z.string() })

/** As lockCampaign; null if it is not scheduled or its time has not come. */
export async function lockDueCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<Campaign | null> {
  return tx.maybeOne(sql.type(Campaign)`
    SELECT ${columns} FROM campaigns g
    WHERE g.account_id = ${account_id} AND g.id = ${id} AND g.status = 'scheduled' AND g.scheduled_at <= now()
    FOR NO KEY UPDATE OF g
  `)
}

/** Scheduled campaigns whose time has come, the oldest first. */
export async function listDueCampaigns(db: Queryable, limit: number): Promise<CampaignId[]> {
  return db.any(sql.type(Due)`
    SELECT account_id, id FROM campaigns WHERE status = 'scheduled' AND scheduled_at <= now()
    ORDER BY scheduled_at, id LIMIT ${limit}
  `)
}

export async function failCampaign(tx: Tx, { account_id, id }: CampaignId, error: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'failed', error = ${error}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}
