import { type Pool, sql } from './pool.ts'
import type { WebhookId } from './webhook_work.ts'

/** Of one statement. */
const ROWS = 5_000

/** What still waits for a webhook that is disabled is given up; of one that is enabled, nothing. Answers how many it were. */
export async function dropDueEvents(pool: Pool, { account_id, id }: WebhookId): Promise<number> {
  for (let dropped = 0; ; ) {
    const count = await pool.run(sql.unsafe`
      UPDATE webhook_deliveries d SET state = 'failed', next_at = NULL
      FROM (
        SELECT d.account_id, d.event_id, d.webhook_id
        FROM webhooks w JOIN webhook_deliveries d ON d.account_id = w.account_id AND d.webhook_id = w.id AND d.state = 'pending'
        WHERE w.account_id = ${account_id} AND w.id = ${id} AND w.status = 'disabled'
        ORDER BY d.next_at, d.event_id LIMIT ${ROWS} FOR NO KEY UPDATE OF d
      ) dropped
      WHERE d.account_id = dropped.account_id AND d.event_id = dropped.event_id AND d.webhook_id = dropped.webhook_id
    `)
    dropped += count
    if (count < ROWS) return dropped
  }
}
