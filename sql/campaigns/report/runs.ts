import { z } from 'zod'
import type { Position } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import { CampaignStatus } from '../campaign_records.ts'
import type { CampaignId } from '../campaigns.ts'
import { sentTo } from '../counts.ts'

const RunStatus = CampaignStatus.extract(['queued', 'testing', 'paused', 'sent', 'canceled', 'failed'])

/** One sending of a campaign (GET /campaigns/:id/runs). */
export const CampaignRun = z
  .object({
    object: z.literal('campaign_run'),
    id: z.string(),
    run: z.int().describe('Its number, from 1.'),
    status: RunStatus.describe('`queued`: the run is being sent. The others are the same as for campaigns.'),
    scheduled_at: z.date().nullable().describe('When it was due; null: it was sent immediately.'),
    started_at: z.date().describe('When sending began.'),
    finished_at: z.date().nullable().describe('When nothing of it was left to send.'),
    recipients_count: z.int().describe('Contacts that it is sent to, without those who were left out.'),
    skipped: z.int().describe('Number of runs that were skipped because they were due before this one ended.'),
  })
  .meta({ id: 'CampaignRun' })
export type CampaignRun = z.infer<typeof CampaignRun>

/** Lists the runs of a campaign, newest first. Their ids are their numbers. */
export async function listRuns(
  db: Queryable,
  { account_id, id }: CampaignId,
  { limit, after, before }: Position,
): Promise<{ object: 'list'; has_more: boolean; data: CampaignRun[] }> {
  // A cursor may be beyond the range of the column.
  const isOlder = sql.fragment`u.run < ${after ?? null}::bigint`
  const where = after ? isOlder : before ? sql.fragment`u.run > ${before}::bigint` : sql.fragment`true`
  const order = before ? sql.fragment`u.run ASC` : sql.fragment`u.run DESC`
  const rows = await db.any(sql.type(CampaignRun)`
    SELECT 'campaign_run' AS object, u.run::text AS id, u.run,
      CASE WHEN u.finished_at IS NULL THEN g.status ELSE coalesce(u.outcome, g.status) END AS status,
      u.scheduled_at, u.created_at AS started_at, u.finished_at,
      ${sentTo(sql.fragment`u.account_id, u.campaign_id, u.run`)} AS recipients_count, u.skipped
    FROM campaign_runs u JOIN campaigns g ON g.account_id = u.account_id AND g.id = u.campaign_id
    WHERE u.account_id = ${account_id} AND u.campaign_id = ${id} AND ${where} ORDER BY ${order} LIMIT ${limit + 1}
  `)
  const data = rows.slice(0, limit)
  return { object: 'list', has_more: rows.length > limit, data: before ? data.reverse() : data }
}

const Newest = z.object({ run: z.int().nullable() })

/** Returns the number of the newest run of a campaign; null if it was never started. */
export async function findNewestRun(db: Queryable, { account_id, id }: CampaignId): Promise<number | null> {
  const { run } = await db.one(sql.type(Newest)`
    SELECT max(run) AS run FROM campaign_runs WHERE account_id = ${account_id} AND campaign_id = ${id}
  `)
  return run
}

export async function isRun(db: Queryable, { account_id, id }: CampaignId, run: number): Promise<boolean> {
  return db.exists(sql.fragment`
    SELECT FROM campaign_runs WHERE account_id = ${account_id} AND campaign_id = ${id} AND run = ${run}
  `)
}
