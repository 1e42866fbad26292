import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

/** What delivers events reads and writes of them; what callers of the API see is in webhooks.ts and webhook_history.ts. */
export type WebhookId = { account_id: string; id: number }

/** Those that are due, without the ones that are in the worker's hands already. */
export type Wish = { account_id: string; webhook_id: number; held: string[]; limit: number }

const DueEvent = z.object({
  account_id: z.string(),
  webhook_id: z.int(),
  endpoint: z.string(),
  signing_secret: z.instanceof(Buffer),
  event_id: z.string(),
  attempt: z.int(),
  first_attempt: z.int(),
  body: z.instanceof(Buffer),
})
export type DueEvent = z.infer<typeof DueEvent>

/** Bytes of bodies of one wish, and the one that exceeds them: who sends us mail decides how large an event of it is. */
const MAX_BYTES = 1024 * 1024

/**
 * Of many webhooks in one query; none of one that is not leased by this owner any more, or disabled or deleted. Fewer than
 * are wished for when they are large, but one at the least.
 */
export async function listDueEvents(db: Queryable, owner: string, wishes: Wish[]): Promise<DueEvent[]> {
  return db.any(sql.prepared('list_due_events', DueEvent)`
    SELECT w.account_id, w.id AS webhook_id, w.endpoint, w.signing_secret, d.event_id, d.attempt, d.first_attempt, d.body
    FROM json_to_recordset(${JSON.stringify(wishes)}::json) AS g(account_id uuid, webhook_id bigint, held uuid[], "limit" integer)
    JOIN webhooks w ON w.account_id = g.account_id AND w.id = g.webhook_id AND w.lease_owner = ${owner}
      AND w.lease_until > now() AND w.status = 'enabled' AND w.deleted_at IS NULL
    CROSS JOIN LATERAL (
      SELECT d.*, e.body, sum(octet_length(e.body)) OVER (ORDER BY d.next_at, d.event_id) - octet_length(e.body) AS before
      FROM (
        SELECT * FROM webhook_deliveries d
        WHERE d.account_id = w.account_id AND d.webhook_id = w.id AND d.state = 'pending' AND d.next_at <= now()
          AND d.event_id <> ALL (g.held)
        ORDER BY d.next_at, d.event_id LIMIT g."limit"
      ) d
      JOIN webhook_events e ON e.account_id = d.account_id AND e.id = d.event_id
    ) d
    WHERE d.before < ${MAX_BYTES}
    ORDER BY d.next_at, d.event_id
  `)
}

/** What became of an attempt (sql/functions/webhooks.sql says what each member means). */
export type WebhookResult = {
  account_id: string
  webhook_id: number
  event_id: string
  attempt: number
  id: string
  is_success: boolean
  is_gone: boolean
  status: number | null
  ms: number
  error: string | null
  response: string | null
  started_at: Date
  delay: number | null
  rest: number | null
}

export type RestTimes = { first_rest_seconds: number; longest_rest_seconds: number }

/** Of attempts, in the order in which they ended. */
export async function settleWebhooks(db: Queryable, results: WebhookResult[], times: RestTimes): Promise<void> {
  const given = results.map((result, position) => ({ ...result, position }))
  await db.run(sql.prepared('settle_webhooks', z.unknown())`
    SELECT settle_webhooks(${JSON.stringify(given)}::json, ${times.first_rest_seconds}, ${times.longest_rest_seconds})
  `)
}
