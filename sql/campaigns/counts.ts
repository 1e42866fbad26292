import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { runOf } from './report/run_of.ts'
import type { RunId } from './sending/runs.ts'

/** Figures that sending changes (campaign_move in _campaign_types.sql). */
export type Figure = 'recipients' | 'excluded' | 'canceled'

/** A change of a figure; changes of the same variant and name in one commit are added up. */
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
 * Returns the figures of a run, or of the newest, over all variants: recipients, excluded, canceled, sent, delivered,
 * delayed, bounced, complained, failed, suppressed, in_doubt, opened, unique_opened, mpp_opened, machine_opened,
 * clicked, unique_clicked, machine_clicked, replied, unsubscribed, and `unreached`, the emails whose first attempt had no
 * response from a server. Figures that were never counted are missing.
 */
export async function readFigures(
  db: Queryable,
  { account_id, campaign_id, run }: Omit<RunId, 'run'> & { run?: number | undefined },
): Promise<Record<string, number>> {
  const { figures } = await db.one(sql.type(z.object({ figures: Figures }))`
    SELECT coalesce(jsonb_object_agg(f.name, f.count), '{}') AS figures FROM (
      SELECT name, sum(count) AS count FROM campaign_counts
      WHERE account_id = ${account_id} AND campaign_id = ${campaign_id}
        AND run = ${runOf({ account_id, id: campaign_id, run })}
      GROUP BY name
    ) f
  `)
  return figures
}

/**
 * Returns an expression: the number of contacts that a run is sent to, without those left out. `key`: the values
 * account_id, campaign_id and run.
 */
export function sentTo(key: FragmentSqlToken): FragmentSqlToken {
  return sql.fragment`(
    SELECT coalesce(sum(CASE n.name WHEN 'recipients' THEN n.count ELSE -n.count END), 0)::bigint FROM campaign_counts n
    WHERE (n.account_id, n.campaign_id, n.run) = (${key}) AND n.name IN ('recipients', 'excluded', 'suppressed'))`
}

const DomainFigures = z.object({ sent: z.int(), complained: z.int() })
export type DomainFigures = z.infer<typeof DomainFigures>

/** Returns how many recipients of a domain's campaigns of the last seven days were sent one, and how many of them complained. */
export async function readDomainFigures(
  db: Queryable,
  { account_id, domain_id }: { account_id: string; domain_id: string },
): Promise<DomainFigures> {
  return db.one(sql.type(DomainFigures)`
    SELECT coalesce(sum(n.count) FILTER (WHERE n.name = 'sent'), 0)::bigint AS sent,
      coalesce(sum(n.count) FILTER (WHERE n.name = 'complained'), 0)::bigint AS complained
    FROM campaigns g
    JOIN campaign_runs u ON u.account_id = g.account_id AND u.campaign_id = g.id AND u.created_at > now() - interval '7 days'
    JOIN campaign_counts n ON n.account_id = u.account_id AND n.campaign_id = u.campaign_id AND n.run = u.run
      AND n.name IN ('sent', 'complained')
    WHERE g.account_id = ${account_id} AND g.domain_id = ${domain_id}
  `)
}
