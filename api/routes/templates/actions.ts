import { z } from 'zod'
import { refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { answerRequested, KEY_ERRORS } from '#api/send_requested.ts'
import { copyTemplate, publishTemplate } from '#flows/templates/change_template.ts'
import { renderTemplate } from '#flows/templates/render_template.ts'
import { TemplateCopy, TemplateRendering } from '#lib/templates/new_template.ts'
import { Template } from '#sql/templates/templates.ts'
import { params, requireTemplate, requireTemplateId } from './template_ref.ts'

const RenderedTemplate = z
  .object({
    object: z.literal('rendered_template'),
    template_id: z.string().describe('Id of the template.'),
    subject: z.string().describe('Subject; empty if the template has none.'),
    html: z.string().nullable().describe('HTML part.'),
    text: z.string().nullable().describe('Plain-text part, derived from `html` if the template has none.'),
  })
  .meta({ id: 'RenderedTemplate' })

export const templateActions = [
  operation('POST /templates/:id/publish', {
    id: 'publishTemplate',
    access: 'full',
    params,
    summary: 'Publish the newest version of a template',
    answers: {
      200: refTo('template')
        .extend({
          current_version_id: z.string().describe('Id of the version that emails now use.'),
          status: z.literal('published').describe('Its new status.'),
        })
        .meta({ id: 'PublishedTemplate' }),
    },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const published = await publishTemplate(ctx.pool, account_id, id)
    return { object: 'template', ...published, status: 'published' }
  }),

  operation('POST /templates/:id/render', {
    id: 'renderTemplate',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Render a template in its newest version',
    description:
      'Returns the content of an email with these variables; nothing is sent. Links that differ per recipient, such as `{{unsubscribe_url}}`, stay placeholders.',
    body: json(TemplateRendering),
    answers: { 200: RenderedTemplate },
  }).handle(async (ctx, { account_id, params, body }) => {
    const id = await requireTemplateId(ctx, account_id, params.id)
    const rendered = await renderTemplate(ctx.pool, account_id, id, body()?.variables ?? {})
    return { object: 'rendered_template', ...rendered }
  }),

  operation('POST /templates/:id/duplicate', {
    id: 'duplicateTemplate',
    access: 'full',
    params,
    summary: 'Copy a template',
    headers: ['Idempotency-Key'],
    body: json(TemplateCopy),
    answers: { 201: Template },
    errors: KEY_ERRORS,
  }).handle(async (ctx, { account_id, params, body }) => {
    const id = await requireTemplateId(ctx, account_id, params.id)
    const name = body()?.name
    return answerRequested(ctx, `/templates/${id}/duplicate`, async tx =>
      requireTemplate(tx, account_id, await copyTemplate(tx, account_id, id, name)),
    )
  }),
]
