import { z } from 'zod'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation, TAKEN } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { createAudience, removeAudience, renameAudience } from '#flows/contacts/change_audience.ts'
import { impliedDomain, requireDomain } from '#flows/contacts/contact_domain.ts'
import { AudienceChange, NewAudience } from '#lib/contacts/new_audience.ts'
import { orNotFound } from '#lib/errors.ts'
import { Audience, findAudience, listAudiences } from '#sql/contacts/audiences.ts'

const params = { id: uuidParam('Audience') }

export const audiences = [
  operation('POST /audiences', {
    id: 'createAudience',
    access: 'full',
    summary: 'Create an audience',
    body: json(NewAudience),
    answers: { 201: Audience },
    errors: ['missing_required_field', TAKEN],
  }).handle(async (ctx, { account_id, body }) => {
    const { name, domain } = body()
    const domain_id = await impliedDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return createAudience(ctx.pool, { account_id, domain_id, name })
  }),

  operation('GET /audiences', {
    id: 'listAudiences',
    access: 'full',
    summary: 'List audiences, newest first',
    query: pagedQuery({ domain: z.string().optional().describe('Only audiences of this domain, by its name or id.') }),
    answers: { 200: listOf(Audience) },
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    const { domain } = filters
    const domain_id =
      domain === undefined ? undefined : await requireDomain(ctx.pool, { caller: ctx.state.caller, domain })
    return listAudiences(ctx.pool, account_id, { domain_id }, position)
  }),

  operation('GET /audiences/:id', {
    id: 'getAudience',
    access: 'full',
    params,
    summary: 'Get an audience',
    answers: { 200: Audience },
  }).handle(async (ctx, { account_id, params: { id } }) =>
    orNotFound('Audience', await findAudience(ctx.pool, account_id, id)),
  ),

  operation('PATCH /audiences/:id', {
    id: 'updateAudience',
    access: 'full',
    params,
    summary: 'Rename an audience',
    body: json(AudienceChange),
    answers: { 200: changed('audience') },
    errors: ['missing_required_field', TAKEN],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    orNotFound('Audience', await findAudience(ctx.pool, account_id, id))
    await renameAudience(ctx.pool, account_id, id, body().name)
    return { object: 'audience', id }
  }),

  operation('DELETE /audiences/:id', {
    id: 'deleteAudience',
    access: 'full',
    params,
    summary: 'Delete an audience',
    description: 'Its contacts stay on the domain. The default audience cannot be deleted.',
    answers: { 200: deleted('audience') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await removeAudience(ctx.pool, account_id, id)
    return { object: 'audience', id, deleted: true }
  }),
]
