import { z } from 'zod'
import { type Pool, type Queryable, sql } from '#sql/pool.ts'
import { retryConflicts } from '#sql/retry.ts'
import type { WebhookId } from './due_events.ts'

/** Rows per statement; few enough that Postgres finds each by an index. */
const ROWS = 1_000

/**
 * Fails the waiting events of a disabled webhook; does nothing for an enabled one. Returns how many.
 *
 * @param locked what to do with rows that another transaction has locked
 */
export async function dropDueEvents(
  pool: Pool,
  { account_id, id }: WebhookId,
  locked: 'wait' | 'skip',
): Promise<number> {
  const orSkip = locked === 'skip' ? sql.fragment`SKIP LOCKED` : sql.fragment``
  const drop = sql.unsafe`
    UPDATE webhook_deliveries d SET state = 'failed', next_at = NULL
    FROM (
      SELECT d.account_id, d.event_id, d.webhook_id
      FROM webhooks w JOIN webhook_deliveries d ON d.account_id = w.account_id AND d.webhook_id = w.id AND d.state = 'pending'
      WHERE w.account_id = ${account_id} AND w.id = ${id} AND w.status = 'disabled'
      ORDER BY d.next_at, d.event_id LIMIT ${ROWS} FOR NO KEY UPDATE OF d ${orSkip}
    ) dropped
    WHERE d.account_id = dropped.account_id AND d.event_id = dropped.event_id AND d.webhook_id = dropped.webhook_id
  `
  for (let dropped = 0; ; ) {
    const count = await retryConflicts(() => pool.run(drop))
    dropped += count
    if (count < ROWS) return dropped
  }
}

const Found = z.object({ account_id: z.string(), id: z.int() })

/** Lists disabled webhooks with waiting events; sorted as in claimWebhooks, for the same reason. */
export async function listDisabledWebhooks(db: Queryable, limit: number): Promise<WebhookId[]> {
  return db.any(sql.type(Found)`
    SELECT w.account_id, w.id FROM webhooks w
    CROSS JOIN LATERAL (
      SELECT FROM webhook_deliveries d
      WHERE d.account_id = w.account_id AND d.webhook_id = w.id AND d.state = 'pending' ORDER BY d.next_at LIMIT 1
    ) d
    WHERE w.status = 'disabled' AND w.deleted_at IS NULL
    LIMIT ${limit}
  `)
}

/**
 * Deletes events older than 30 days with their results. Reads each account from its first id on, since ids rise with
 * time. Returns how many.
 */
export async function deleteExpiredEvents(db: Queryable, limit: number): Promise<number> {
  const end = sql.fragment`now() - interval '30 days'`
  return db.run(sql.unsafe`
    DELETE FROM webhook_events WHERE (account_id, id) IN (
      SELECT e.account_id, e.id
      FROM accounts a
      CROSS JOIN LATERAL (SELECT created_at FROM webhook_events WHERE account_id = a.id ORDER BY id LIMIT 1) first
      CROSS JOIN LATERAL (
        SELECT account_id, id, created_at FROM webhook_events
        WHERE account_id = a.id AND first.created_at < ${end} ORDER BY id LIMIT ${limit}
      ) e
      WHERE e.created_at < ${end}
      LIMIT ${limit}
    )
  `)
}

/** Deletes deliveries of deleted webhooks, and events that no other webhook has. Returns how many deliveries. */
export async function deleteDeletedDeliveries(db: Queryable, limit: number): Promise<number> {
  const { count } = await db.one(sql.type(z.object({ count: z.int() }))`
    WITH gone AS (
      DELETE FROM webhook_deliveries WHERE (account_id, event_id, webhook_id) IN (
        SELECT d.account_id, d.event_id, d.webhook_id
        FROM webhooks w
        CROSS JOIN LATERAL (
          SELECT * FROM webhook_deliveries d
          WHERE d.account_id = w.account_id AND d.webhook_id = w.id ORDER BY d.event_id LIMIT ${limit}
        ) d
        WHERE w.deleted_at IS NOT NULL
        LIMIT ${limit}
      )
      RETURNING account_id, event_id
    ), unheard AS (
      DELETE FROM webhook_events e USING gone g
      WHERE e.account_id = g.account_id AND e.id = g.event_id AND NOT EXISTS (
        SELECT FROM webhook_deliveries d JOIN webhooks w ON w.account_id = d.account_id AND w.id = d.webhook_id
        WHERE d.account_id = e.account_id AND d.event_id = e.id AND w.deleted_at IS NULL
      )
    )
    SELECT count(*) AS count FROM gone
  `)
  return count
}

/**
 * Deletes the rows of deleted webhooks once they have no deliveries and every transaction that could still see them has
 * ended. Returns how many.
 */
export async function deleteDeletedWebhooks(db: Queryable): Promise<number> {
  return db.run(sql.unsafe`
    DELETE FROM webhooks w
    WHERE w.deleted_at < now() - interval '1 minute' AND NOT EXISTS (
      SELECT FROM webhook_deliveries d WHERE d.account_id = w.account_id AND d.webhook_id = w.id
    )
  `)
}
