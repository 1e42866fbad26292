import { z } from 'zod'
import { listOf } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { ApiKey, listApiKeys } from '#sql/accounts/api_keys.ts'

/** No key may manage keys, whatever its permission: these operations only say so. */
const refused = { access: 'dashboard' as const, answers: { 200: z.never() } }
const refuse = () => Promise.reject(new Error('the check of access lets nobody through'))

export const apiKeys = [
  operation('GET /api-keys', {
    id: 'listApiKeys',
    access: 'full',
    summary: 'List API keys',
    query: wholeQuery({}),
    answers: { 200: listOf(ApiKey) },
  }).handle(async (ctx, { account_id, query }) => listApiKeys(ctx.pool, account_id, query().position)),
  operation('POST /api-keys', { ...refused, id: 'createApiKey', summary: 'Create an API key' }).handle(refuse),
  operation('PATCH /api-keys/:id', {
    ...refused,
    id: 'updateApiKey',
    params: { id: uuidParam('API key') },
    summary: 'Change an API key',
  }).handle(refuse),
  operation('PUT /api-keys/:id', {
    ...refused,
    id: 'replaceApiKey',
    params: { id: uuidParam('API key') },
    summary: 'Replace an API key',
  }).handle(refuse),
  operation('DELETE /api-keys/:id', {
    ...refused,
    id: 'deleteApiKey',
    params: { id: uuidParam('API key') },
    summary: 'Revoke an API key',
  }).handle(refuse),
]
