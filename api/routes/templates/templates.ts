import { z } from 'zod'
import { changed, deleted, listOf } from '#api/operations/answers.ts'
import { longJson } from '#api/operations/bodies.ts'
import { operation, TAKEN } from '#api/operations/operation.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { answerPrepared, KEY_ERRORS } from '#api/send_requested.ts'
import { changeTemplate, prepareTemplate, removeTemplate } from '#flows/templates/change_template.ts'
import { NewTemplate, TemplateChange } from '#lib/templates/new_template.ts'
import { ListedTemplate, listTemplates, Template, TemplateStatus } from '#sql/templates/templates.ts'
import { params, requireTemplate, requireTemplateId } from './template_ref.ts'

/** `q` is one line, since the fields that it searches are joined with line breaks. */
const filters = {
  status: TemplateStatus.optional().describe('Only templates with this status.'),
  q: z
    .string()
    .regex(/^[^\p{Cc}]{0,200}$/u, 'must be one line of at most 200 characters')
    .optional()
    .describe('Text in the name, alias or subject, ignoring case.'),
}

export const templates = [
  operation('POST /templates', {
    id: 'createTemplate',
    access: 'full',
    summary: 'Create a template',
    headers: ['Idempotency-Key'],
    body: longJson(NewTemplate),
    answers: { 201: Template },
    errors: ['missing_required_field', 'invalid_from_address', TAKEN, ...KEY_ERRORS],
  }).handle(async (ctx, { account_id, body }) => {
    const given = body()
    return answerPrepared(ctx, '/templates', async () => {
      const store = await prepareTemplate(account_id, given)
      return async tx => requireTemplate(tx, account_id, await store(tx))
    })
  }),

  operation('GET /templates', {
    id: 'listTemplates',
    access: 'full',
    summary: 'List templates, newest first',
    query: pagedQuery(filters),
    answers: { 200: listOf(ListedTemplate) },
  }).handle(async (ctx, { account_id, query }) => {
    const { filters, position } = query()
    return listTemplates(ctx.pool, account_id, filters, position)
  }),

  operation('GET /templates/:id', {
    id: 'getTemplate',
    access: 'full',
    params,
    summary: 'Get a template in its newest version',
    answers: { 200: Template },
  }).handle(async (ctx, { account_id, params: { id } }) => requireTemplate(ctx.pool, account_id, id)),

  operation('PATCH /templates/:id', {
    id: 'updateTemplate',
    access: 'full',
    params,
    summary: 'Change a template',
    description: 'Emails use the changed content once the template is published.',
    body: longJson(TemplateChange),
    answers: { 200: changed('template') },
    errors: ['invalid_from_address', TAKEN],
  }).handle(async (ctx, { account_id, params, body }) => {
    const id = await requireTemplateId(ctx, account_id, params.id)
    await changeTemplate(ctx.pool, account_id, id, body())
    return { object: 'template', id }
  }),

  operation('DELETE /templates/:id', {
    id: 'deleteTemplate',
    access: 'full',
    params,
    summary: 'Delete a template',
    description:
      'A template that a scheduled campaign, an enabled automation or a run in progress uses cannot be deleted.',
    answers: { 200: deleted('template') },
  }).handle(async (ctx, { account_id, params }) => {
    const id = await removeTemplate(ctx.pool, account_id, params.id)
    return { object: 'template', id, deleted: true }
  }),
]
