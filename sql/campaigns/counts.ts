import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { newestRun } from './report/newest_run.ts'
import type { RunId } from './sending/runs.ts'

/** Figures that sending moves (campaign_move in sql/_types.sql). */
export type Figure = 'recipients' | 'excluded' | 'canceled'

/** A change of a figure; of several of one commit those of one variant and name are added up. */
export type Move = { variant: number; name: Figure; by: number }

export async function countCampaign(tx: Tx, { account_id, campaign_id, run }: RunId, moves: Move[]): Promise<void> {
  const rows = moves.map(move => ({ account_id, campaign_id, run, ...move }))
  if (rows.length === 0) return
  await tx.run(sql.unsafe`
    SELECT count_campaigns(ARRAY(
      SELECT m FROM json_populate_recordset(NULL::campaign_move, ${JSON.stringify(rows)}::json) AS m
    ))
  `)
}

const Figures = z.record(z.string(), z.int())

/**
 * Returns the figures of a run, or of the newest, over all variants: recipients, excluded, canceled, sent, delivered, delayed,
 * bounced, complained, failed, suppressed, in_doubt, opened, unique_opened, mpp_opened, machine_opened, clicked,
 * unique_clicked, machine_clicked, replied, unsubscribed, and `unreached`, the attempts that no server answered. What was
 * never counted is missing.
 */
export async function readFigures(
  db: Queryable,
  { account_id, campaign_id, run }: Omit<RunId, 'run'> & { run?: number },
): Promise<Record<string, number>> {
  const { figures } = await db.one(sql.type(z.object({ figures: Figures }))`
    SELECT coalesce(jsonb_object_agg(f.name, f.count), '{}') AS figures FROM (
      SELECT name, sum(count) AS count FROM campaign_counts
      WHERE account_id = ${account_id} AND campaign_id = ${campaign_id}
        AND run = ${run ?? newestRun({ account_id, id: campaign_id })}
      GROUP BY name
    ) f
  `)
  return figures
}
