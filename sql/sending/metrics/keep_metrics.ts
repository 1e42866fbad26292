import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import { RETENTION_DAYS } from './ranges.ts'

const Count = z.object({ count: z.int() })

/**
 * Merges the shards of at most `limit` rows of quarters that are no longer written (fold_metrics.sql). Returns how many
 * rows.
 */
export async function foldMetrics(db: Queryable, limit: number): Promise<number> {
  const { count } = await db.one(sql.type(Count)`SELECT fold_metrics(${limit}) AS count`)
  return count
}

/** Deletes at most `limit` rows that no request can return any more; returns how many. */
export async function deleteExpiredMetrics(db: Queryable, limit: number): Promise<number> {
  return db.run(sql.unsafe`
    DELETE FROM email_metrics m USING (
      SELECT old.* FROM accounts a CROSS JOIN LATERAL (
        SELECT account_id, quarter, domain_id, campaign_id, shard FROM email_metrics x
        WHERE x.account_id = a.id AND x.quarter < now() - make_interval(days => ${RETENTION_DAYS}) - interval '1 hour'
        ORDER BY quarter LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ) old LIMIT ${limit}
    ) old
    WHERE m.account_id = old.account_id AND m.quarter = old.quarter AND m.domain_id = old.domain_id
      AND m.campaign_id = old.campaign_id AND m.shard = old.shard
  `)
}
