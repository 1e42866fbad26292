import { z } from 'zod'
import { FIRST_ID, firstId, LAST_ID } from '#lib/id_ranges.ts'
import { EventStatus, type WebhookEventFilter } from '#lib/webhooks/event_filter.ts'
import { type Page, type Position, readPage, seconds } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** A webhook as the path of a request names it. */
export type WebhookPath = { account_id: string; webhook_id: string }

const listed = {
  object: z.literal('webhook_event'),
  id: z.string(),
  type: z.string().describe('Type of the event, such as `email.delivered`.'),
  created_at: z.date(),
  status: EventStatus,
}

export const ListedWebhookEvent = z.object(listed).meta({ id: 'ListedWebhookEvent' })
export type ListedWebhookEvent = z.infer<typeof ListedWebhookEvent>

/** An event with its delivery to one webhook. `payload`: the body of its requests. */
export const WebhookEvent = z
  .object({
    ...listed,
    next_attempt_at: z.date().nullable().describe('When it is sent again; null: never.'),
    payload: z.unknown().describe('Body of its requests.'),
  })
  .meta({ id: 'WebhookEvent' })
export type WebhookEvent = z.infer<typeof WebhookEvent>

const history = ({ account_id, webhook_id }: WebhookPath) => sql.fragment`
  SELECT e.id, d.event_id, e.type, e.created_at, e.body, d.state,
    CASE WHEN d.next_at <= now() AND w.lease_until > now() THEN 'attempting' ELSE d.state END AS status,
    CASE WHEN d.state = 'pending' THEN greatest(d.next_at, w.rest_until) END AS next_attempt_at
  FROM webhooks w
  JOIN webhook_deliveries d ON d.account_id = w.account_id AND d.webhook_id = w.id
  JOIN webhook_events e ON e.account_id = d.account_id AND e.id = d.event_id
  WHERE w.account_id = ${account_id} AND w.id = ${webhook_id}
`

/** Ids contain the rounded time, and later ids of a commit are a little ahead. */
const ID_SLACK_MS = 60_000

/** Returns the first and the last id that an event in this time range can have, so that an index finds it. */
export function idRange(from: Date | undefined, to: Date | undefined): { first: string; last: string } {
  return { first: from ? firstId(from, -ID_SLACK_MS) : FIRST_ID, last: to ? firstId(to, ID_SLACK_MS) : LAST_ID }
}

/** Lists events, newest first. */
export async function listWebhookEvents(
  db: Queryable,
  webhook: WebhookPath,
  { status, type, created_after, created_before }: WebhookEventFilter,
  position: Position,
): Promise<Page<ListedWebhookEvent>> {
  const { first, last } = idRange(created_after, created_before)
  const isPending = status === 'pending' || status === 'attempting'
  const { after, before } = position
  const filters = [
    sql.fragment`id BETWEEN ${first} AND ${last}`,
    // The same of deliveries, which are read first: Postgres does not conclude it from the join.
    sql.fragment`event_id BETWEEN ${first} AND ${last}`,
    ...(after ? [sql.fragment`event_id < ${after}`] : before ? [sql.fragment`event_id > ${before}`] : []),
    // Also by state, which has an index.
    ...(status ? [sql.fragment`state = ${isPending ? 'pending' : status} AND status = ${status}`] : []),
    ...(type ? [sql.fragment`type = ${type}`] : []),
    ...(created_after ? [sql.fragment`created_at > to_timestamp(${seconds(created_after)})`] : []),
    ...(created_before ? [sql.fragment`created_at < to_timestamp(${seconds(created_before)})`] : []),
  ]
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedWebhookEvent)`
      SELECT 'webhook_event' AS object, id, type, created_at, status FROM (${history(webhook)}) h
      WHERE ${sql.join([where, ...filters], sql.fragment` AND `)}
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findWebhookEvent(db: Queryable, webhook: WebhookPath, id: string): Promise<WebhookEvent | null> {
  return db.maybeOne(sql.type(WebhookEvent)`
    SELECT 'webhook_event' AS object, id, type, created_at, status, next_attempt_at,
      convert_from(body, 'UTF8')::json AS payload
    FROM (${history(webhook)}) h
    WHERE id = ${id}
  `)
}

/** `http_status_code`: 0 without an HTTP response. `response`: the beginning of its body. `attempt`: counts from 1. */
export const WebhookAttempt = z
  .object({
    object: z.literal('webhook_attempt'),
    id: z.string(),
    attempt: z.int().describe('Number of the attempt, from 1.'),
    http_status_code: z.int().describe('Status of the response; 0 without one.'),
    response: z.string().describe('The first 1 KB of the response.'),
    error: z.string().nullable().describe('Why it failed.'),
    ms: z.int().describe('Duration in milliseconds.'),
    sent_at: z.date().describe('When it was sent.'),
  })
  .meta({ id: 'WebhookAttempt' })
export type WebhookAttempt = z.infer<typeof WebhookAttempt>

/** Lists attempts, newest first. */
export async function listWebhookAttempts(
  db: Queryable,
  { account_id, webhook_id }: WebhookPath,
  event_id: string,
  position: Position,
): Promise<Page<WebhookAttempt>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(WebhookAttempt)`
      SELECT 'webhook_attempt' AS object, id, attempt, coalesce(status, 0) AS http_status_code,
        coalesce(response, '') AS response, error, ms, created_at AS sent_at
      FROM webhook_attempts
      WHERE account_id = ${account_id} AND event_id = ${event_id} AND webhook_id = ${webhook_id} AND ${where}
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}
