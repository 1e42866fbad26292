import { notFound } from '#lib/errors.ts'
import type { Queryable } from '#sql/pool.ts'
import { findWebhookEvent, type WebhookEvent, type WebhookPath } from '#sql/webhooks/history.ts'
import { findWebhook, type Webhook } from '#sql/webhooks/webhooks.ts'

/** @throws {ApiError} 404 */
export async function requireWebhook(db: Queryable, { account_id, webhook_id }: WebhookPath): Promise<Webhook> {
  const webhook = await findWebhook(db, account_id, webhook_id)
  if (!webhook) throw notFound('Webhook')
  return webhook
}

/** @throws {ApiError} 404 if the event or its webhook does not exist */
export async function requireWebhookEvent(db: Queryable, webhook: WebhookPath, id: string): Promise<WebhookEvent> {
  await requireWebhook(db, webhook)
  const event = await findWebhookEvent(db, webhook, id)
  if (!event) throw notFound('Event')
  return event
}
