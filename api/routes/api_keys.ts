import { z } from 'zod'
import { listOf } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { ApiKey, listApiKeys } from '#sql/accounts/api_keys.ts'

/** No key may manage keys, whatever its permission: the check of access lets nobody through to these operations. */
const refused = { access: 'dashboard' as const, answers: { 200: z.never() } }
const refusedById = { ...refused, params: { id: uuidParam('API key') } }
const refuse = () => Promise.reject(new Error('an API key reached the management of keys'))

export const apiKeys = [
  operation('GET /api-keys', {
    id: 'listApiKeys',
    access: 'full',
    summary: 'List API keys',
    query: wholeQuery({}),
    answers: { 200: listOf(ApiKey) },
  }).handle(async (ctx, { account_id, query }) => listApiKeys(ctx.pool, account_id, query().position)),
  operation('POST /api-keys', { ...refused, id: 'createApiKey', summary: 'Create an API key' }).handle(refuse),
  operation('PATCH /api-keys/:id', { ...refusedById, id: 'updateApiKey', summary: 'Change an API key' }).handle(refuse),
  operation('PUT /api-keys/:id', { ...refusedById, id: 'replaceApiKey', summary: 'Replace an API key' }).handle(refuse),
  operation('DELETE /api-keys/:id', { ...refusedById, id: 'deleteApiKey', summary: 'Revoke an API key' }).handle(
    refuse,
  ),
]
