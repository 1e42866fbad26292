import type { WebhookPath } from '#sql/webhooks/history.ts'
import type { Context } from './context.ts'
import { type IdShape, numericId, parseId, uuid } from './parse.ts'

/** The webhook that the path names, of the caller's account. @throws {ApiError} 404 */
export function parseWebhook(ctx: Context): WebhookPath {
  return { account_id: ctx.state.caller.account_id, webhook_id: parseId('Webhook', ctx.params.id, numericId) }
}

/** An event's, as lists have it or as the `webhook-id` of its requests does. */
export const eventId: IdShape = text => uuid(text.replace(/^msg_/, ''))
