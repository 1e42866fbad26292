import type { Foundation } from '#flows/process/run_process.ts'
import * as flow from '#flows/webhooks/change_webhook.ts'
import type { NewWebhook } from '#lib/webhooks/new_webhook.ts'

/** Adds a webhook, like POST /webhooks. */
export function addWebhook(
  { pool, secrets }: Pick<Foundation, 'pool' | 'secrets'>,
  account_id: string,
  given: NewWebhook,
) {
  return pool.transaction(tx => flow.addWebhook(tx, secrets, account_id, given))
}
