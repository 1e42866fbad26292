import type { Context } from '#api/context.ts'
import type { Param } from '#api/operations/params.ts'
import { orNotFound } from '#lib/errors.ts'
import { TemplateRef } from '#lib/templates/variables.ts'
import type { Queryable } from '#sql/pool.ts'
import { findTemplate, findTemplateId, type Template } from '#sql/templates/templates.ts'

const id: Param<string> = {
  resource: 'Template',
  read: text => TemplateRef.safeParse(text).data ?? null,
  description: 'Id or alias of the template.',
}
export const params = { id }

export async function requireTemplate(db: Queryable, account_id: string, ref: string): Promise<Template> {
  return orNotFound('Template', await findTemplate(db, account_id, ref))
}

export async function requireTemplateId(ctx: Context, account_id: string, ref: string): Promise<string> {
  return orNotFound('Template', await findTemplateId(ctx.pool, account_id, ref))
}
