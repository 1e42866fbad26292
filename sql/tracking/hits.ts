import { z } from 'zod'
import type { HitClass } from '#lib/tracking/classify.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/**
 * An open of a tracked email, or a click on one of its links. `source_id`, `link`, `url`: of a click, named by its
 * token (lib/tracking/tracking_tokens.ts).
 */
export type TrackingHit = {
  account_id: string
  delivery_id: string
  id: string
  type: 'open' | 'click'
  class: HitClass
  rule: string
  /** The rule that makes the hit a machine's if it came within 10 minutes of the delivery. */
  suspect?: string | null
  source_id?: string
  link?: number
  url?: string
  ip: string | null
  user_agent: string | null
  created_at: Date
}

/** Records hits with all their effects (record_hits.sql). Hits that are recorded already change nothing. */
export async function recordHits(db: Queryable, hits: TrackingHit[]): Promise<void> {
  await db.run(sql.unsafe`SELECT record_hits(${JSON.stringify(hits)}::json)`)
}

/** Judges clicks again that were recorded before the results of their deliveries (judge_early_clicks.sql). */
export async function judgeEarlyClicks(db: Queryable, deliveries: { account_id: string; id: string }[]): Promise<void> {
  await db.run(sql.unsafe`SELECT judge_early_clicks(${JSON.stringify(deliveries)}::json)`)
}

const Count = z.object({ count: z.int() })

/** Days after which only the network of a hit is kept, not the address. */
const ADDRESS_DAYS = 30

/**
 * Cuts the addresses of at most `limit` hits older than 30 days to their networks, /24 or /48, and deletes their
 * User-Agents; class and rule are kept. Returns how many.
 */
export async function forgetAddresses(db: Queryable, limit: number): Promise<number> {
  const { count } = await db.one(sql.type(Count)`
    WITH old AS (
      SELECT account_id, delivery_id, id FROM tracking_hits
      WHERE created_at < now() - make_interval(days => ${ADDRESS_DAYS})
        AND (user_agent IS NOT NULL OR masklen(ip) IN (32, 128))
      ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), cut AS (
      UPDATE tracking_hits t
      SET user_agent = NULL, ip = network(set_masklen(t.ip, least(masklen(t.ip), CASE family(t.ip) WHEN 4 THEN 24 ELSE 48 END)))
      FROM old WHERE t.account_id = old.account_id AND t.delivery_id = old.delivery_id AND t.id = old.id
      RETURNING 1
    )
    SELECT count(*)::integer AS count FROM cut
  `)
  return count
}
