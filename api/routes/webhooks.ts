import Router from '@koa/router'
import { addWebhook, changeWebhook, rotateSigningSecret } from '../../flows/change_webhook.ts'
import { notFound } from '../../lib/errors.ts'
import { newWebhook, webhookChange } from '../../lib/new_webhook.ts'
import { findWebhook, listWebhooks, markWebhookDeleted } from '../../sql/webhooks.ts'
import { fullAccess } from '../auth.ts'
import { readBody } from '../body.ts'
import type { Context, Services, State } from '../context.ts'
import { numericId, parse, parseId, parsePage } from '../parse.ts'

export const webhooks = new Router<State, Services>()

webhooks.post('/webhooks', fullAccess, readBody, async ctx => {
  const given = parse(newWebhook(ctx.connections.policy), ctx.state.body)
  ctx.status = 201
  ctx.body = await addWebhook(ctx, ctx.state.caller.account_id, given)
})

webhooks.get('/webhooks', fullAccess, async ctx => {
  ctx.body = await listWebhooks(ctx.pool, ctx.state.caller.account_id, parsePage(ctx, numericId))
})

webhooks.get('/webhooks/:id', fullAccess, async ctx => {
  const webhook = await findWebhook(ctx.pool, ctx.state.caller.account_id, parseWebhookId(ctx))
  if (!webhook) throw notFound('Webhook')
  ctx.body = webhook
})

webhooks.patch('/webhooks/:id', fullAccess, readBody, async ctx => {
  const id = parseWebhookId(ctx)
  const { account_id } = ctx.state.caller
  if (!(await findWebhook(ctx.pool, account_id, id))) throw notFound('Webhook')
  await changeWebhook(ctx.pool, account_id, id, parse(webhookChange(ctx.connections.policy), ctx.state.body))
  ctx.body = { object: 'webhook', id }
})

webhooks.delete('/webhooks/:id', fullAccess, async ctx => {
  const id = parseWebhookId(ctx)
  if ((await markWebhookDeleted(ctx.pool, ctx.state.caller.account_id, id)) === 0) throw notFound('Webhook')
  ctx.body = { object: 'webhook', id, deleted: true }
})

webhooks.post(['/webhooks/:id/signing-secret/rotate', '/webhooks/:id/rotate'], fullAccess, async ctx => {
  ctx.body = await rotateSigningSecret(ctx, ctx.state.caller.account_id, parseWebhookId(ctx))
})

function parseWebhookId(ctx: Context): string {
  return parseId('Webhook', ctx.params.id, numericId)
}
