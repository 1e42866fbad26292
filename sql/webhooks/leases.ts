import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql } from '#sql/pool.ts'
import type { WebhookId } from './due_events.ts'

const ClaimedWebhook = z.object({
  account_id: z.string(),
  id: z.int(),
  failure_count: z.int(),
  recent_results: z.string(),
})
export type ClaimedWebhook = z.infer<typeof ClaimedWebhook>

/** The owner of a lease, and its length. */
type Lease = { owner: string; seconds: number }

/** How many webhooks may be leased: `sound`, whose last attempt did not fail, and `failing`. */
export type Room = { sound: number; failing: number }

/**
 * Leases webhooks with due events, of the given ones or (null) of all, least recently served first.
 *
 * Sorted like the index `webhook_deliveries_due`, so that no plan reads finished deliveries, which may be millions.
 */
export async function claimWebhooks(
  db: Queryable,
  lease: Lease,
  { sound, failing }: Room,
  ids: WebhookId[] | null,
): Promise<ClaimedWebhook[]> {
  return db.any(sql.type(ClaimedWebhook)`
    WITH RECURSIVE ${ids ? given(ids) : waiting}
    UPDATE webhooks w SET lease_owner = ${lease.owner}, lease_until = now() + make_interval(secs => ${lease.seconds})
    FROM (
      SELECT * FROM (${due(sql.fragment`= 0`, sound)}) sound UNION ALL SELECT * FROM (${due(sql.fragment`> 0`, failing)}) failing
    ) due
    WHERE w.account_id = due.account_id AND w.id = due.id
    RETURNING w.account_id, w.id, w.failure_count, w.recent_results
  `)
}

const due = (failures: FragmentSqlToken, limit: number) => sql.fragment`
  SELECT w.account_id, w.id
  FROM waiting g
  JOIN webhooks w ON w.account_id = g.account_id AND w.id = g.webhook_id
  CROSS JOIN LATERAL (
    SELECT FROM webhook_deliveries d
    WHERE d.account_id = w.account_id AND d.webhook_id = w.id AND d.state = 'pending' AND d.next_at <= now()
    ORDER BY d.next_at LIMIT 1
  ) due
  WHERE w.status = 'enabled' AND w.deleted_at IS NULL AND w.failure_count ${failures}
    AND (w.lease_until > now()) IS NOT TRUE AND (w.rest_until > now()) IS NOT TRUE
  ORDER BY w.lease_until NULLS FIRST LIMIT ${limit} FOR NO KEY UPDATE OF w SKIP LOCKED
`

const given = (ids: WebhookId[]) => sql.fragment`waiting AS (
  SELECT DISTINCT account_id, id AS webhook_id FROM json_to_recordset(${JSON.stringify(ids)}::json) AS g(account_id uuid, id bigint)
)`

/** Steps from one webhook with waiting events to the next, however many events or idle webhooks there are. */
const waiting = sql.fragment`waiting AS (
  (
    SELECT account_id, webhook_id FROM webhook_deliveries WHERE state = 'pending'
    ORDER BY account_id, webhook_id, next_at LIMIT 1
  )
  UNION ALL
  SELECT next.account_id, next.webhook_id FROM waiting w CROSS JOIN LATERAL (
    SELECT account_id, webhook_id FROM webhook_deliveries
    WHERE state = 'pending' AND (account_id, webhook_id) > (w.account_id, w.webhook_id)
    ORDER BY account_id, webhook_id, next_at LIMIT 1
  ) next
)`

/** Extends leases that have not expired; a webhook whose lease has expired must be claimed again. */
export async function extendWebhookLeases(db: Queryable, lease: Lease, ids: WebhookId[]): Promise<void> {
  await db.run(sql.prepared('extend_webhook_leases', z.unknown())`
    UPDATE webhooks w SET lease_until = now() + make_interval(secs => ${lease.seconds})
    FROM (
      SELECT w.account_id, w.id
      FROM json_to_recordset(${JSON.stringify(ids)}::json) AS g(account_id uuid, id bigint)
      JOIN webhooks w ON w.account_id = g.account_id AND w.id = g.id
        AND w.lease_owner = ${lease.owner} AND w.lease_until > now()
      ORDER BY w.account_id, w.id FOR NO KEY UPDATE OF w
    ) mine
    WHERE w.account_id = mine.account_id AND w.id = mine.id
  `)
}

/** Releases leases; these webhooks are then claimed after the others. */
export async function releaseWebhooks(db: Queryable, owner: string, ids: WebhookId[]): Promise<void> {
  await db.run(sql.prepared('release_webhooks', z.unknown())`
    UPDATE webhooks w SET lease_owner = NULL, lease_until = now()
    FROM (
      SELECT w.account_id, w.id
      FROM json_to_recordset(${JSON.stringify(ids)}::json) AS g(account_id uuid, id bigint)
      JOIN webhooks w ON w.account_id = g.account_id AND w.id = g.id AND w.lease_owner = ${owner}
      ORDER BY w.account_id, w.id FOR NO KEY UPDATE OF w
    ) mine
    WHERE w.account_id = mine.account_id AND w.id = mine.id
  `)
}
