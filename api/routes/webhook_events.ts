import Router from '@koa/router'
import { readBody } from '#api/bodies/read_body.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId, parsePage } from '#api/parse.ts'
import { eventId, parseWebhook } from '#api/webhook_path.ts'
import { requireWebhook, requireWebhookEvent } from '#flows/webhooks/find_webhook.ts'
import { replayEvent, replayEvents } from '#flows/webhooks/replay_webhook.ts'
import { parse } from '#lib/json/parse.ts'
import { WebhookEventFilter, WebhookReplay } from '#lib/webhooks/event_filter.ts'
import { listWebhookAttempts, listWebhookEvents } from '#sql/webhooks/history.ts'

/** What webhooks were told, what became of it, and telling it once more. */
export const webhookEvents = new Router<State, Services>()

webhookEvents.get('/webhooks/:id/events', fullAccess, async ctx => {
  const webhook = parseWebhook(ctx)
  await requireWebhook(ctx.pool, webhook)
  const position = parsePage(ctx, eventId)
  ctx.body = await listWebhookEvents(ctx.pool, webhook, parse(WebhookEventFilter, ctx.query), position)
})

webhookEvents.get('/webhooks/:id/events/:event_id', fullAccess, async ctx => {
  ctx.body = await requireWebhookEvent(ctx.pool, parseWebhook(ctx), parseEventId(ctx))
})

webhookEvents.get('/webhooks/:id/events/:event_id/attempts', fullAccess, async ctx => {
  const webhook = parseWebhook(ctx)
  const { id } = await requireWebhookEvent(ctx.pool, webhook, parseEventId(ctx))
  ctx.body = await listWebhookAttempts(ctx.pool, webhook, id, parsePage(ctx))
})

webhookEvents.post('/webhooks/:id/events/:event_id/replay', fullAccess, async ctx => {
  const id = parseEventId(ctx)
  await replayEvent(ctx.pool, parseWebhook(ctx), id)
  ctx.body = { object: 'webhook_event', id }
})

webhookEvents.post('/webhooks/:id/replay', fullAccess, readBody, async ctx => {
  const webhook = parseWebhook(ctx)
  await requireWebhook(ctx.pool, webhook)
  const replayed = await replayEvents(ctx.pool, webhook, parse(WebhookReplay, ctx.state.body))
  ctx.body = { object: 'webhook', id: webhook.webhook_id, replayed }
})

function parseEventId(ctx: Context): string {
  return parseId('Event', ctx.params.event_id, eventId)
}
