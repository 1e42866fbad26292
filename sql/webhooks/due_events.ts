import { z } from 'zod'
import { STANDING_RULES } from '#lib/webhooks/standing.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** Queries for delivering events; those for callers of the API are in webhooks.ts and history.ts. */
export type WebhookId = { account_id: string; id: number }

/** A request for due events, without those that the worker already holds. */
export type DueEventsRequest = { account_id: string; webhook_id: number; held: string[]; limit: number }

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

/** Maximum bytes of bodies per request: senders of mail decide how large its event is. */
const MAX_BYTES = 1024 * 1024

/** Lists the due events of many webhooks in one query (sql/webhooks/list_due_events.sql). */
export async function listDueEvents(db: Queryable, owner: string, requests: DueEventsRequest[]): Promise<DueEvent[]> {
  return db.any(sql.prepared('list_due_events', DueEvent)`
    SELECT * FROM list_due_events(${owner}, ${JSON.stringify(requests)}::json, ${MAX_BYTES})
  `)
}

/** Result of an attempt (sql/webhooks/settle_webhooks.sql explains each member). */
export type WebhookResult = {
  account_id: string
  webhook_id: number
  event_id: string
  endpoint: string
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
  is_hung: boolean
}

export type RestTimes = { first_rest_seconds: number; longest_rest_seconds: number }

/** Stores results of attempts, given in the order in which they ended. */
export async function settleWebhooks(db: Queryable, results: WebhookResult[], times: RestTimes): Promise<void> {
  const given = results.map((result, position) => ({ ...result, position }))
  await db.run(sql.prepared('settle_webhooks', z.unknown())`
    SELECT settle_webhooks(${JSON.stringify(given)}::json, ${times.first_rest_seconds}, ${times.longest_rest_seconds},
      ${JSON.stringify(STANDING_RULES)}::json)
  `)
}
