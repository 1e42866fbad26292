import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf, refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { numericId } from '#api/operations/ids.ts'
import { operation } from '#api/operations/operation.ts'
import { numericParam } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { answerPrepared, answerSecret, KEY_ERRORS, REPEATS_SECRET } from '#api/send_requested.ts'
import { addWebhook, changeWebhook, rotateSigningSecret } from '#flows/webhooks/change_webhook.ts'
import { requireWebhook } from '#flows/webhooks/find_webhook.ts'
import { TestedWebhook, testWebhook } from '#flows/webhooks/test_webhook.ts'
import { notFound } from '#lib/errors.ts'
import { NewWebhook, readEndpoint, WebhookChange } from '#lib/webhooks/new_webhook.ts'
import { listWebhooks, markWebhookDeleted, Webhook } from '#sql/webhooks/webhooks.ts'

const params = { id: numericParam('Webhook') }
const secret = { signing_secret: z.string().describe('Returned only in this response.') }

export const webhooks = [
  operation('POST /webhooks', {
    id: 'createWebhook',
    access: 'full',
    summary: 'Add a webhook',
    description: REPEATS_SECRET,
    headers: ['Idempotency-Key'],
    body: json(NewWebhook),
    answers: { 201: Webhook.extend(secret).meta({ id: 'WebhookWithSecret' }) },
    errors: ['missing_required_field', ...KEY_ERRORS],
  }).handle(async (ctx, { account_id, body }) => {
    const given = withCheckedEndpoint(ctx, body())
    return answerSecret(ctx, '/webhooks', tx => addWebhook(tx, ctx.secrets, account_id, given))
  }),

  operation('GET /webhooks', {
    id: 'listWebhooks',
    access: 'full',
    summary: 'List webhooks',
    query: pagedQuery({}, numericId),
    answers: { 200: listOf(Webhook) },
  }).handle(async (ctx, { account_id, query }) => listWebhooks(ctx.pool, account_id, query().position)),

  operation('GET /webhooks/:id', {
    id: 'getWebhook',
    access: 'full',
    params,
    summary: 'Get a webhook',
    answers: { 200: Webhook },
  }).handle(async (ctx, { account_id, params: { id } }) => requireWebhook(ctx.pool, { account_id, webhook_id: id })),

  operation('PATCH /webhooks/:id', {
    id: 'updateWebhook',
    access: 'full',
    params,
    summary: 'Change, enable or disable a webhook',
    description: 'Enabling it or changing its endpoint resets its failures.',
    body: json(WebhookChange),
    answers: { 200: changed('webhook') },
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    await requireWebhook(ctx.pool, { account_id, webhook_id: id })
    await changeWebhook(ctx.pool, account_id, id, withCheckedEndpoint(ctx, body()))
    return { object: 'webhook', id }
  }),

  operation('DELETE /webhooks/:id', {
    id: 'deleteWebhook',
    access: 'full',
    params,
    summary: 'Delete a webhook',
    answers: { 200: deleted('webhook') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    if ((await markWebhookDeleted(ctx.pool, account_id, id)) === 0) throw notFound('Webhook')
    return { object: 'webhook', id, deleted: true }
  }),

  operation('POST /webhooks/:id/signing-secret/rotate', {
    id: 'rotateSigningSecret',
    aliases: ['/webhooks/:id/rotate'],
    access: 'full',
    params,
    summary: 'Replace the signing secret of a webhook',
    description: `The previous secret is no longer used. ${REPEATS_SECRET}`,
    headers: ['Idempotency-Key'],
    answers: { 200: refTo('webhook').extend(secret).meta({ id: 'WebhookSecret' }) },
    errors: KEY_ERRORS,
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await requireWebhook(ctx.pool, { account_id, webhook_id: id })
    const route = `/webhooks/${id}/signing-secret/rotate`
    return answerSecret(ctx, route, tx => rotateSigningSecret(tx, ctx.secrets, account_id, id))
  }),

  operation('POST /webhooks/:id/test', {
    id: 'testWebhook',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Send a test event to a webhook',
    description: 'Waits for the response of the endpoint. The test counts neither as a success nor as a failure.',
    headers: ['Idempotency-Key'],
    answers: { 200: TestedWebhook },
    errors: KEY_ERRORS,
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await requireWebhook(ctx.pool, { account_id, webhook_id: id })
    return answerPrepared(ctx, `/webhooks/${id}/test`, async () => {
      const tested = await testWebhook(ctx, { account_id, webhook_id: id })
      return async () => tested
    })
  }),
]

/** Checks the endpoint, if one is given, against the policy of the operator. @throws {ApiError} `validation_error` */
function withCheckedEndpoint<Given extends { endpoint?: string | undefined }>(ctx: Context, given: Given): Given {
  if (given.endpoint === undefined) return given
  return { ...given, endpoint: readEndpoint(given.endpoint, ctx.connections.policy) }
}
