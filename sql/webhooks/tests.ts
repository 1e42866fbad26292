import { z } from 'zod'
import { TEST_EVENT } from '#lib/webhooks/event_types.ts'
import { type Queryable, sql } from '#sql/pool.ts'
import type { WebhookResult } from './due_events.ts'
import type { WebhookPath } from './history.ts'

const Target = z.object({ id: z.int(), endpoint: z.string(), signing_secret: z.instanceof(Buffer) })

/** Finds the endpoint of a webhook for a test, enabled or not. */
export async function findTarget(
  db: Queryable,
  { account_id, webhook_id }: WebhookPath,
): Promise<z.infer<typeof Target> | null> {
  return db.maybeOne(sql.type(Target)`
    SELECT id, endpoint, signing_secret FROM webhooks
    WHERE account_id = ${account_id} AND id = ${webhook_id} AND deleted_at IS NULL
  `)
}

export type WebhookTest = { created_at: Date; body: Buffer } & Pick<
  WebhookResult,
  'account_id' | 'webhook_id' | 'event_id' | 'id' | 'is_success' | 'status' | 'ms' | 'error' | 'response' | 'started_at'
>

/** Stores a test only in the history of its webhook: it is not retried and does not count. */
export async function insertTest(db: Queryable, test: WebhookTest): Promise<void> {
  const { account_id, event_id, webhook_id } = test
  await db.run(sql.unsafe`
    WITH event AS (
      INSERT INTO webhook_events (account_id, id, type, body, created_at)
      VALUES (${account_id}, ${event_id}, ${TEST_EVENT}, ${sql.binary(test.body)}, ${test.created_at.toISOString()})
    ), delivery AS (
      INSERT INTO webhook_deliveries (account_id, event_id, webhook_id, state, attempt)
      VALUES (${account_id}, ${event_id}, ${webhook_id}, ${test.is_success ? 'success' : 'failed'}, 1)
    )
    INSERT INTO webhook_attempts (account_id, event_id, webhook_id, attempt, id, status, ms, error, response, created_at)
    VALUES (${account_id}, ${event_id}, ${webhook_id}, 1, ${test.id}, ${test.status}, ${test.ms}, ${test.error},
      ${test.response}, ${test.started_at.toISOString()})
  `)
}
