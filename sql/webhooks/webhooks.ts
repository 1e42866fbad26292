import { z } from 'zod'
import { textId } from '#lib/json/json_form.ts'
import type { WebhookChange } from '#lib/webhooks/new_webhook.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import type { WebhookId } from './due_events.ts'

/** A webhook as the API shows it. Its secret is shown only when it is created. */
export const Webhook = z
  .object({
    object: z.literal('webhook'),
    id: textId,
    endpoint: z.string().describe('URL that events are posted to.'),
    events: z.array(z.string()).describe('Events that it has subscribed to; `*`: all.'),
    status: z.enum(['enabled', 'disabled']).describe('A disabled webhook gets no events.'),
    failure_count: z.int().describe('Failed attempts in a row; 50 disable it.'),
    last_delivery_status: z.enum(['success', 'failed']).nullable().describe('Result of the last attempt.'),
    last_delivery_at: z.date().nullable().describe('When the last attempt ended.'),
    disabled_reason: z.string().nullable().describe('`manual`, `too_many_failures` or `endpoint_gone` (status 410).'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.infer<typeof Webhook>

const columns = sql.fragment`
  'webhook' AS object, id, endpoint, events, status, failure_count, last_delivery_status, last_delivery_at, disabled_reason,
  created_at, updated_at
`

export async function listWebhooks(db: Queryable, account_id: string, position: Position): Promise<Page<Webhook>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(Webhook)`
      SELECT ${columns} FROM webhooks
      WHERE account_id = ${account_id} AND deleted_at IS NULL AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findWebhook(db: Queryable, account_id: string, id: string): Promise<Webhook | null> {
  return db.maybeOne(sql.type(Webhook)`
    SELECT ${columns} FROM webhooks WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}

/** Returns how many webhooks an account has, and prevents others from adding one until the transaction ends. */
export async function lockWebhookRoom(tx: Tx, account_id: string): Promise<number> {
  await tx.run(sql.unsafe`SELECT FROM accounts WHERE id = ${account_id} FOR NO KEY UPDATE`)
  // A separate statement, which sees rows committed while the lock was waited for.
  const { count } = await tx.one(sql.type(z.object({ count: z.int() }))`
    SELECT count(*) AS count FROM webhooks WHERE account_id = ${account_id} AND deleted_at IS NULL
  `)
  return count
}

/** Returns a new webhook id: the secret is sealed for it before the webhook is stored. */
export async function takeWebhookId(db: Queryable): Promise<number> {
  const { id } = await db.one(sql.type(z.object({ id: z.int() }))`
    SELECT nextval(pg_get_serial_sequence('webhooks', 'id')) AS id
  `)
  return id
}

export type NewWebhookRow = WebhookId & { endpoint: string; events: string[]; signing_secret: Buffer }

export async function insertWebhook(tx: Tx, webhook: NewWebhookRow): Promise<Webhook> {
  return tx.one(sql.type(Webhook)`
    INSERT INTO webhooks (account_id, id, endpoint, events, signing_secret)
    VALUES (${webhook.account_id}, ${webhook.id}, ${webhook.endpoint}, ${sql.array(webhook.events, 'text')},
      ${sql.binary(webhook.signing_secret)})
    RETURNING ${columns}
  `)
}

/**
 * Updates only the given fields. Enabling it or changing its endpoint resets its failures. Returns the number of
 * changed rows.
 */
export async function updateWebhook(
  db: Queryable,
  account_id: string,
  id: string,
  { endpoint, events, status }: WebhookChange,
): Promise<number> {
  const changes = [
    ...(endpoint === undefined ? [] : [sql.fragment`endpoint = ${endpoint}`]),
    ...(events === undefined ? [] : [sql.fragment`events = ${sql.array(events, 'text')}`]),
    ...(status === 'disabled'
      ? [sql.fragment`status = 'disabled', disabled_reason = coalesce(disabled_reason, 'manual')`]
      : []),
    ...startAnew(endpoint, status),
    sql.fragment`updated_at = now()`,
  ]
  return db.run(sql.unsafe`
    UPDATE webhooks SET ${sql.join(changes, sql.fragment`, `)}
    WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}

/** Returns the assignments that reset failures and rests of a webhook that is enabled or has a new endpoint. */
function startAnew(endpoint: WebhookChange['endpoint'], status: WebhookChange['status']) {
  if (status === 'enabled') {
    return [
      sql.fragment`status = 'enabled', disabled_reason = NULL, failure_count = 0, recent_results = '', rests = 0, rest_until = NULL`,
    ]
  }
  if (endpoint === undefined) return []
  return [
    sql.fragment`failure_count = CASE endpoint WHEN ${endpoint} THEN failure_count ELSE 0 END,
      recent_results = CASE endpoint WHEN ${endpoint} THEN recent_results ELSE '' END,
      rests = CASE endpoint WHEN ${endpoint} THEN rests ELSE 0 END,
      rest_until = CASE endpoint WHEN ${endpoint} THEN rest_until END`,
  ]
}

export async function updateSigningSecret(
  db: Queryable,
  { account_id, id }: WebhookId,
  sealed: Buffer,
): Promise<number> {
  return db.run(sql.unsafe`
    UPDATE webhooks SET signing_secret = ${sql.binary(sealed)}, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}

/** Hides a webhook at once; its rows are purged later with its deliveries (tasks/purge.ts). Returns how many. */
export async function markWebhookDeleted(db: Queryable, account_id: string, id: string): Promise<number> {
  return db.run(sql.unsafe`
    UPDATE webhooks SET deleted_at = now(), updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id} AND deleted_at IS NULL
  `)
}
