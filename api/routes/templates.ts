import Router from '@koa/router'
import { z } from 'zod'
import { readBody, readTemplateBody } from '#api/bodies/read_body.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parsePage, single } from '#api/parse.ts'
import { changeTemplate, copyTemplate, createTemplate, publishTemplate } from '#flows/templates/change_template.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { NewTemplate, TemplateChange, TemplateCopy } from '#lib/templates/new_template.ts'
import { TemplateRef } from '#lib/templates/variables.ts'
import {
  deleteTemplate,
  findTemplate,
  findTemplateId,
  listTemplates,
  TemplateStatus,
} from '#sql/templates/templates.ts'

export const templates = new Router<State, Services>()

templates.post('/templates', fullAccess, readTemplateBody, async ctx => {
  const { account_id } = ctx.state.caller
  const id = await createTemplate(ctx.pool, account_id, parse(NewTemplate, ctx.state.body))
  ctx.status = 201
  ctx.body = await findTemplate(ctx.pool, account_id, id)
})

/** One line, so that nothing is found across two fields. */
const Query = z.object({
  status: TemplateStatus.optional(),
  q: z
    .string()
    .regex(/^[^\p{Cc}]{0,200}$/u, 'must be one line of at most 200 characters')
    .optional(),
})

templates.get('/templates', fullAccess, async ctx => {
  const filter = parse(Query, { status: single(ctx, 'status'), q: single(ctx, 'q') })
  ctx.body = await listTemplates(ctx.pool, ctx.state.caller.account_id, filter, parsePage(ctx))
})

templates.get('/templates/:id', fullAccess, async ctx => {
  const template = await findTemplate(ctx.pool, ctx.state.caller.account_id, parseRef(ctx))
  if (!template) throw notFound('Template')
  ctx.body = template
})

templates.patch('/templates/:id', fullAccess, readTemplateBody, async ctx => {
  const id = await requireTemplate(ctx)
  await changeTemplate(ctx.pool, ctx.state.caller.account_id, id, parse(TemplateChange, ctx.state.body))
  ctx.body = { object: 'template', id }
})

templates.delete('/templates/:id', fullAccess, async ctx => {
  const id = await deleteTemplate(ctx.pool, ctx.state.caller.account_id, parseRef(ctx))
  if (!id) throw notFound('Template')
  ctx.body = { object: 'template', id, deleted: true }
})

templates.post('/templates/:id/publish', fullAccess, async ctx => {
  const published = await publishTemplate(ctx.pool, ctx.state.caller.account_id, parseRef(ctx))
  ctx.body = { object: 'template', ...published, status: 'published' }
})

templates.post('/templates/:id/duplicate', fullAccess, readBody, async ctx => {
  const { account_id } = ctx.state.caller
  const id = await requireTemplate(ctx)
  const copy_id = await copyTemplate(ctx.pool, account_id, id, parse(TemplateCopy, ctx.state.body)?.name)
  ctx.status = 201
  ctx.body = await findTemplate(ctx.pool, account_id, copy_id)
})

/** What cannot be an id or an alias names nothing. */
function parseRef(ctx: Context): string {
  const ref = TemplateRef.safeParse(ctx.params.id)
  if (!ref.success) throw notFound('Template')
  return ref.data
}

/** Its id: that it is there is told before anything about the body. */
async function requireTemplate(ctx: Context): Promise<string> {
  const id = await findTemplateId(ctx.pool, ctx.state.caller.account_id, parseRef(ctx))
  if (!id) throw notFound('Template')
  return id
}
