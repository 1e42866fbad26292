import type { HitClass } from '#lib/tracking/classify.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/**
 * An opening of a tracked email, or a click on one of its links. `source_id`, `link` and `url` are of a click: what its token
 * names (lib/tracking/tracking_tokens.ts).
 */
export type TrackingHit = {
  account_id: string
  delivery_id: string
  id: string
  type: 'open' | 'click'
  class: HitClass
  rule: string
  source_id?: string
  link?: number
  url?: string
  ip: string | null
  user_agent: string | null
  created_at: Date
}

/** Records hits and all that follows from them (record_hits.sql). Those that are recorded already change nothing. */
export async function recordHits(db: Queryable, hits: TrackingHit[]): Promise<void> {
  await db.run(sql.unsafe`SELECT record_hits(${JSON.stringify(hits)}::json)`)
}
