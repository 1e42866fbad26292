import Router from '@koa/router'
import { readBody } from '#api/bodies/read_body.ts'
import type { Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { numericId, parsePage } from '#api/parse.ts'
import { parseWebhook } from '#api/webhook_path.ts'
import { addWebhook, changeWebhook, rotateSigningSecret } from '#flows/webhooks/change_webhook.ts'
import { requireWebhook } from '#flows/webhooks/find_webhook.ts'
import { testWebhook } from '#flows/webhooks/test_webhook.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { newWebhook, webhookChange } from '#lib/webhooks/new_webhook.ts'
import { listWebhooks, markWebhookDeleted } from '#sql/webhooks/webhooks.ts'

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
  ctx.body = await requireWebhook(ctx.pool, parseWebhook(ctx))
})

webhooks.patch('/webhooks/:id', fullAccess, readBody, async ctx => {
  const webhook = parseWebhook(ctx)
  await requireWebhook(ctx.pool, webhook)
  const { account_id, webhook_id: id } = webhook
  await changeWebhook(ctx.pool, account_id, id, parse(webhookChange(ctx.connections.policy), ctx.state.body))
  ctx.body = { object: 'webhook', id }
})

webhooks.delete('/webhooks/:id', fullAccess, async ctx => {
  const { account_id, webhook_id: id } = parseWebhook(ctx)
  if ((await markWebhookDeleted(ctx.pool, account_id, id)) === 0) throw notFound('Webhook')
  ctx.body = { object: 'webhook', id, deleted: true }
})

webhooks.post(['/webhooks/:id/signing-secret/rotate', '/webhooks/:id/rotate'], fullAccess, async ctx => {
  const { account_id, webhook_id: id } = parseWebhook(ctx)
  ctx.body = await rotateSigningSecret(ctx, account_id, id)
})

webhooks.post('/webhooks/:id/test', fullAccess, async ctx => {
  ctx.body = await testWebhook(ctx, parseWebhook(ctx))
})
