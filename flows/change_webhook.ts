import { notFound } from '../lib/errors.ts'
import type { NewWebhook, WebhookChange } from '../lib/new_webhook.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { Pool } from '../sql/pool.ts'
import { dropDueEvents } from '../sql/webhook_history.ts'
import { insertWebhook, takeWebhookId, updateSigningSecret, updateWebhook, type Webhook } from '../sql/webhooks.ts'
import { makeSigningSecret } from './signing_secrets.ts'

type Keeper = { pool: Pool; secrets: Secrets }

/** Adds a webhook. The answer alone shows its secret. */
export async function addWebhook(
  { pool, secrets }: Keeper,
  account_id: string,
  given: NewWebhook,
): Promise<Webhook & { signing_secret: string }> {
  const id = await takeWebhookId(pool)
  const { plain, sealed } = makeSigningSecret(secrets, { account_id, id })
  const webhook = await insertWebhook(pool, { account_id, id, ...given, signing_secret: sealed })
  return { ...webhook, signing_secret: plain }
}

/** Changes a webhook. One that is enabled gets nothing of what was dropped when it was disabled. @throws {ApiError} 404 */
export async function changeWebhook(pool: Pool, account_id: string, id: string, change: WebhookChange): Promise<void> {
  if (change.status === 'enabled') await dropDueEvents(pool, { account_id, id: Number(id) })
  if ((await updateWebhook(pool, account_id, id, change)) === 0) throw notFound('Webhook')
}

/** The one it had signs nothing from here on. @throws {ApiError} 404 */
export async function rotateSigningSecret({ pool, secrets }: Keeper, account_id: string, id: string) {
  const webhook = { account_id, id: Number(id) }
  const { plain, sealed } = makeSigningSecret(secrets, webhook)
  if ((await updateSigningSecret(pool, webhook, sealed)) === 0) throw notFound('Webhook')
  return { object: 'webhook', id, signing_secret: plain }
}
