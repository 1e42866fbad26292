import { z } from 'zod'
import { addJob } from '#sql/jobs.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Campaign, columns } from '../campaign_records.ts'
import type { CampaignId } from '../campaigns.ts'
import { addSendJob } from '../sending/runs.ts'

/** `begins_at`: earlier than `at` if another zone reaches that time of day first. */
export type PlannedStart = { at: Date; begins_at: Date }

/** Schedules the first run of a campaign. */
export async function scheduleCampaign(tx: Tx, campaign: CampaignId, start: PlannedStart): Promise<void> {
  await setSchedule(tx, campaign, start)
  await tx.run(sql.unsafe`
    UPDATE campaigns SET first_run_at = scheduled_at WHERE account_id = ${campaign.account_id} AND id = ${campaign.id}
  `)
}

/**
 * Schedules a campaign. A job looks for due campaigns at that time; if it is lost, the sweep finds the campaign within
 * a minute.
 */
export async function setSchedule(
  tx: Tx,
  { account_id, id }: CampaignId,
  { at, begins_at }: PlannedStart,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'scheduled', scheduled_at = ${at.toISOString()},
      begins_at = nullif(${begins_at.toISOString()}, ${at.toISOString()})::timestamptz, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  await addJob(tx, 'start_campaigns', {}, `start_campaigns ${id}`, begins_at)
}

/**
 * A campaign as it is sent. `subject_of_all`: for variants without their own subject. `is_test`: it starts with an A/B
 * test. `scheduled_at`: null if it was sent at once.
 */
export type Started = {
  sender: string
  subject: string
  subject_of_all: string
  reply_to: string[]
  content_id: string
  is_test: boolean
  scheduled_at: Date | null
}

/**
 * Starts a new run, which is being sent from this commit on, with a job that finds its recipients; returns its number.
 * A recurring campaign keeps its own fields, since its template may have another subject at the next run.
 */
export async function startRun(tx: Tx, { account_id, id }: CampaignId, started: Started): Promise<number> {
  const scheduled_at = started.scheduled_at?.toISOString() ?? null
  const reply_to = sql.array(started.reply_to, 'text')
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = ${started.is_test ? 'testing' : 'queued'}, content_id = ${started.content_id},
      subject = CASE WHEN recurrence IS NULL THEN ${started.subject_of_all} ELSE subject END,
      reply_to = CASE WHEN recurrence IS NULL THEN ${reply_to} ELSE reply_to END,
      scheduled_at = ${scheduled_at}, first_run_at = coalesce(first_run_at, ${scheduled_at}),
      recipients_count = 0, started_at = now(), sent_at = NULL, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
  const { run } = await tx.one(sql.type(z.object({ run: z.int() }))`
    INSERT INTO campaign_runs (account_id, campaign_id, run, scheduled_at, sender, subject, reply_to)
    SELECT ${account_id}, ${id}, coalesce(max(run), 0) + 1, ${scheduled_at}::timestamptz, ${started.sender}, ${started.subject},
      ${reply_to}
    FROM campaign_runs WHERE account_id = ${account_id} AND campaign_id = ${id} RETURNING run
  `)
  await addSendJob(tx, { account_id, campaign_id: id })
  return run
}

/** `scheduled_at`: a Postgres timestamp, with microseconds. */
const DueCampaign = z.object({ account_id: z.string(), id: z.string(), scheduled_at: z.string() })
export type DueCampaign = z.infer<typeof DueCampaign>

/**
 * Condition for due campaigns. A campaign starts at most 27 hours before its time: the distance between the first and
 * the last time zone.
 */
const isDue = sql.fragment`
  g.status = 'scheduled' AND g.scheduled_at <= now() + interval '27 hours' AND coalesce(g.begins_at, g.scheduled_at) <= now()`

/** As lockCampaign, but null if it is not scheduled or not due yet. */
export async function lockDueCampaign(tx: Tx, { account_id, id }: CampaignId): Promise<Campaign | null> {
  return tx.maybeOne(sql.type(Campaign)`
    SELECT ${columns} FROM campaigns g
    WHERE g.account_id = ${account_id} AND g.id = ${id} AND ${isDue}
    FOR NO KEY UPDATE OF g
  `)
}

/** Lists scheduled campaigns that are due, oldest first. `last`: the last one of the previous list. */
export async function listDueCampaigns(db: Queryable, last: DueCampaign | null, limit: number): Promise<DueCampaign[]> {
  return db.any(sql.type(DueCampaign)`
    SELECT account_id, id, scheduled_at::text FROM campaigns g
    WHERE ${isDue} AND (${last?.scheduled_at ?? null}::timestamptz IS NULL
      OR (g.scheduled_at, g.id) > (${last?.scheduled_at ?? null}::timestamptz, ${last?.id ?? null}::uuid))
    ORDER BY g.scheduled_at, g.id LIMIT ${limit}
  `)
}

export async function failCampaign(tx: Tx, { account_id, id }: CampaignId, error: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE campaigns SET status = 'failed', error = ${error}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}
