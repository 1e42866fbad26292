import { z } from 'zod'
import { listOf, refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { eventId } from '#api/operations/ids.ts'
import { operation } from '#api/operations/operation.ts'
import { numericParam, param } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { answerPrepared, answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import { requireWebhook, requireWebhookEvent } from '#flows/webhooks/find_webhook.ts'
import { replayEvent, replayEvents } from '#flows/webhooks/replay_webhook.ts'
import { WebhookEventFilter, WebhookReplay } from '#lib/webhooks/event_filter.ts'
import {
  ListedWebhookEvent,
  listWebhookAttempts,
  listWebhookEvents,
  WebhookAttempt,
  WebhookEvent,
} from '#sql/webhooks/history.ts'

const params = { id: numericParam('Webhook') }
const eventParams = {
  ...params,
  event_id: param('Event', eventId, 'Id of the event, as in lists or in the header `webhook-id`.'),
}

export const webhookEvents = [
  operation('GET /webhooks/:id/events', {
    id: 'listWebhookEvents',
    access: 'full',
    params,
    summary: 'List the events of a webhook, newest first',
    query: pagedQuery(WebhookEventFilter.shape, eventId),
    answers: { 200: listOf(ListedWebhookEvent) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    const webhook = { account_id, webhook_id: id }
    await requireWebhook(ctx.pool, webhook)
    const { filters, position } = query()
    return listWebhookEvents(ctx.pool, webhook, filters, position)
  }),

  operation('GET /webhooks/:id/events/:event_id', {
    id: 'getWebhookEvent',
    access: 'full',
    params: eventParams,
    summary: 'Get an event with its payload',
    answers: { 200: WebhookEvent },
  }).handle(async (ctx, { account_id, params: { id, event_id } }) =>
    requireWebhookEvent(ctx.pool, { account_id, webhook_id: id }, event_id),
  ),

  operation('GET /webhooks/:id/events/:event_id/attempts', {
    id: 'listWebhookAttempts',
    access: 'full',
    params: eventParams,
    summary: 'List the attempts to send an event, newest first',
    query: pagedQuery({}),
    answers: { 200: listOf(WebhookAttempt) },
  }).handle(async (ctx, { account_id, params: { id, event_id }, query }) => {
    const webhook = { account_id, webhook_id: id }
    const event = await requireWebhookEvent(ctx.pool, webhook, event_id)
    return listWebhookAttempts(ctx.pool, webhook, event.id, query().position)
  }),

  operation('POST /webhooks/:id/events/:event_id/replay', {
    id: 'replayWebhookEvent',
    access: 'full',
    params: eventParams,
    summary: 'Send an event again',
    headers: ['Idempotency-Key'],
    answers: { 200: refTo('webhook_event').meta({ id: 'ReplayedWebhookEvent' }) },
    errors: KEY_ERRORS,
  }).handle(async (ctx, { account_id, params: { id, event_id } }) => {
    const webhook = { account_id, webhook_id: id }
    const event = await requireWebhookEvent(ctx.pool, webhook, event_id)
    return answerRequested(ctx, `/webhooks/${id}/events/${event_id}/replay`, async tx => {
      await replayEvent(tx, webhook, event)
      return { object: 'webhook_event' as const, id: event_id }
    })
  }),

  operation('POST /webhooks/:id/replay', {
    id: 'replayWebhookEvents',
    access: 'full',
    params,
    summary: 'Send the events of a time range again',
    headers: ['Idempotency-Key'],
    body: json(WebhookReplay),
    answers: {
      200: refTo('webhook')
        .extend({ replayed: z.int().describe('Number of events that are sent again.') })
        .meta({ id: 'ReplayedWebhook' }),
    },
    errors: ['missing_required_field', ...KEY_ERRORS],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    const webhook = { account_id, webhook_id: id }
    await requireWebhook(ctx.pool, webhook)
    const which = body()
    return answerPrepared(ctx, `/webhooks/${id}/replay`, async () => {
      const replayed = await replayEvents(ctx.pool, webhook, which)
      return async () => ({ object: 'webhook' as const, id, replayed })
    })
  }),
]
