import { ApiError, notFound } from '#lib/errors.ts'
import type { Secrets } from '#lib/secrets.ts'
import { MAX_WEBHOOKS, type NewWebhook, type WebhookChange } from '#lib/webhooks/new_webhook.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { dropDueEvents } from '#sql/webhooks/purge.ts'
import {
  insertWebhook,
  lockWebhookRoom,
  takeWebhookId,
  updateSigningSecret,
  updateWebhook,
  type Webhook,
} from '#sql/webhooks/webhooks.ts'
import { makeSigningSecret } from './signing_secrets.ts'

/**
 * Adds a webhook. Its secret is shown only in this result. @throws {ApiError} `validation_error` if there are too many
 */
export async function addWebhook(
  tx: Tx,
  secrets: Secrets,
  account_id: string,
  given: NewWebhook,
): Promise<Webhook & { signing_secret: string }> {
  if ((await lockWebhookRoom(tx, account_id)) >= MAX_WEBHOOKS) {
    throw new ApiError('validation_error', `An account can have at most ${MAX_WEBHOOKS} webhooks.`)
  }
  const id = await takeWebhookId(tx)
  const { plain, sealed } = makeSigningSecret(secrets, { account_id, id })
  const webhook = await insertWebhook(tx, { account_id, id, ...given, signing_secret: sealed })
  return { ...webhook, signing_secret: plain }
}

/**
 * Changes a webhook. When it is enabled, events from the time when it was disabled are dropped. @throws {ApiError} 404
 */
export async function changeWebhook(pool: Pool, account_id: string, id: string, change: WebhookChange): Promise<void> {
  if (change.status === 'enabled') await dropDueEvents(pool, { account_id, id: Number(id) }, 'wait')
  if ((await updateWebhook(pool, account_id, id, change)) === 0) throw notFound('Webhook')
}

/** Replaces the signing secret; the old one is no longer used. @throws {ApiError} 404 */
export async function rotateSigningSecret(db: Queryable, secrets: Secrets, account_id: string, id: string) {
  const webhook = { account_id, id: Number(id) }
  const { plain, sealed } = makeSigningSecret(secrets, webhook)
  if ((await updateSigningSecret(db, webhook, sealed)) === 0) throw notFound('Webhook')
  return { object: 'webhook' as const, id, signing_secret: plain }
}
