import { z } from 'zod'
import type { WebhookReplay } from '#lib/webhooks/event_filter.ts'
import { seconds } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { idRange, type WebhookPath } from './history.ts'

/** Makes a waiting delivery due now; restarts the schedule of any other. Returns how many (0 or 1). */
export async function replayDelivery(
  tx: Tx,
  { account_id, webhook_id }: WebhookPath,
  event_id: string,
): Promise<number> {
  return tx.run(sql.unsafe`
    UPDATE webhook_deliveries SET state = 'pending', next_at = least(next_at, now()),
      first_attempt = CASE state WHEN 'pending' THEN first_attempt ELSE attempt END
    WHERE account_id = ${account_id} AND event_id = ${event_id} AND webhook_id = ${webhook_id}
  `)
}

const isEnabled = sql.fragment`w.status = 'enabled' AND w.deleted_at IS NULL`

const Slice = z.object({ replayed: z.int(), last: z.string().nullable() })

/**
 * Looks at the next `limit` events of an enabled webhook, in the order of ids, and replays those that match.
 *
 * @returns how many were replayed, and the id of the last event looked at; null if there are no more, or the webhook is not
 * enabled
 */
export async function replaySlice(
  db: Queryable,
  { account_id, webhook_id }: WebhookPath,
  { from, to, status, type }: WebhookReplay & { to: Date },
  after: string | null,
  limit: number,
): Promise<z.infer<typeof Slice>> {
  const { first, last } = idRange(from, to)
  const isNext = after ? sql.fragment`event_id > ${after}` : sql.fragment`event_id >= ${first}`
  return db.one(sql.type(Slice)`
    WITH slice AS MATERIALIZED (
      SELECT event_id FROM webhook_deliveries
      WHERE account_id = ${account_id} AND webhook_id = ${webhook_id} AND state = ${status}
        AND ${isNext} AND event_id <= ${last}
        AND EXISTS (SELECT FROM webhooks w WHERE w.account_id = ${account_id} AND w.id = ${webhook_id} AND ${isEnabled})
      ORDER BY event_id LIMIT ${limit} FOR NO KEY UPDATE
    ), replayed AS (
      UPDATE webhook_deliveries d SET state = 'pending', next_at = now(), first_attempt = attempt
      FROM slice s
      JOIN webhook_events e ON e.account_id = ${account_id} AND e.id = s.event_id
      JOIN webhooks w ON w.account_id = ${account_id} AND w.id = ${webhook_id} AND ${isEnabled}
      WHERE d.account_id = ${account_id} AND d.event_id = s.event_id AND d.webhook_id = w.id
        AND e.type <> 'test' AND coalesce(e.type = ${type ?? null}, true)
        AND e.created_at >= to_timestamp(${seconds(from)}) AND e.created_at < to_timestamp(${seconds(to)})
      RETURNING d.event_id
    )
    SELECT (SELECT count(*) FROM replayed) AS replayed, (SELECT event_id FROM slice ORDER BY event_id DESC LIMIT 1) AS last
  `)
}
