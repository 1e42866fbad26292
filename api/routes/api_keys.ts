import { z } from 'zod'
import type { Context } from '#api/context.ts'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { answerSecret, KEY_ERRORS, REPEATS_SECRET } from '#api/send_requested.ts'
import { changeApiKey, makeApiKey } from '#flows/members/manage_api_keys.ts'
import { notFound } from '#lib/errors.ts'
import { ApiKeyChange, NewApiKey } from '#lib/members/new_api_key.ts'
import { ApiKey, listApiKeys, revokeOwnApiKey } from '#sql/accounts/api_keys.ts'

const params = { id: uuidParam('Key') }

const CreatedApiKey = ApiKey.extend({
  token: z.string().describe('The key itself, which is returned only this once.'),
}).meta({ id: 'CreatedApiKey' })

export const apiKeys = [
  operation('GET /api-keys', {
    id: 'listApiKeys',
    access: 'full',
    summary: 'List API keys',
    query: wholeQuery({}),
    answers: { 200: listOf(ApiKey) },
  }).handle(async (ctx, { account_id, query }) => listApiKeys(ctx.pool, account_id, query().position)),

  operation('POST /api-keys', {
    id: 'createApiKey',
    access: 'dashboard',
    summary: 'Create an API key',
    description: REPEATS_SECRET,
    headers: ['Idempotency-Key'],
    body: json(NewApiKey),
    answers: { 201: CreatedApiKey },
    errors: ['missing_required_field', 'not_found', ...KEY_ERRORS],
  }).handle(async (ctx, { account_id, body }) => {
    const given = body()
    return answerSecret(ctx, '/api-keys', tx => makeApiKey(tx, ctx.secrets, account_id, given))
  }),

  operation('PATCH /api-keys/:id', {
    id: 'updateApiKey',
    access: 'dashboard',
    summary: 'Change an API key',
    params,
    body: json(ApiKeyChange),
    answers: { 200: changed('api_key') },
  }).handle(async (ctx, { account_id, params: { id }, body }) => change(ctx, account_id, id, body())),

  operation('PUT /api-keys/:id', {
    id: 'replaceApiKey',
    access: 'dashboard',
    summary: 'Replace the fields of an API key',
    params,
    body: json(NewApiKey),
    answers: { 200: changed('api_key') },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => change(ctx, account_id, id, body())),

  operation('DELETE /api-keys/:id', {
    id: 'deleteApiKey',
    access: 'dashboard',
    summary: 'Revoke an API key',
    params,
    answers: { 200: deleted('api_key') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    if (!(await revokeOwnApiKey(ctx.pool, account_id, id))) throw notFound('Key')
    return { object: 'api_key' as const, id, deleted: true as const }
  }),
]

async function change(ctx: Context, account_id: string, id: string, fields: ApiKeyChange) {
  await changeApiKey(ctx.pool, account_id, id, fields)
  return { object: 'api_key' as const, id }
}
