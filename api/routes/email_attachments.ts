import Router from '@koa/router'
import { beginReading, sendFile } from '#api/bodies/download.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId } from '#api/parse.ts'
import { notFound } from '#lib/errors.ts'
import { findStoredAttachment, listAttachments } from '#sql/sending/attachments.ts'
import { type EmailId, isEmail } from '#sql/sending/emails.ts'

export const emailAttachments = new Router<State, Services>()

emailAttachments.get('/emails/:id/attachments', fullAccess, async ctx => {
  ctx.body = { object: 'list', has_more: false, data: await listOf(ctx, await emailOf(ctx)) }
})

emailAttachments.get('/emails/:id/attachments/:attachment_id', fullAccess, async ctx => {
  const id = parseId('Attachment', ctx.params.attachment_id)
  const attachments = await listOf(ctx, await emailOf(ctx))
  const attachment = attachments.find(attachment => attachment.id === id)
  if (!attachment) throw notFound('Attachment')
  ctx.body = attachment
})

emailAttachments.get('/emails/:id/attachments/:attachment_id/content', fullAccess, async ctx => {
  const email = await emailOf(ctx)
  const file = await findStoredAttachment(ctx.pool, email, parseId('Attachment', ctx.params.attachment_id))
  if (!file) throw notFound('Attachment')
  sendFile(ctx, file, await beginReading(ctx.blobs.read(email.account_id, file.blob_id), file.size))
})

async function emailOf(ctx: Context): Promise<EmailId> {
  const email = { account_id: ctx.state.caller.account_id, id: parseId('Email', ctx.params.id) }
  if (!(await isEmail(ctx.pool, email.account_id, email.id))) throw notFound('Email')
  return email
}

function listOf(ctx: Context, email: EmailId) {
  return listAttachments(ctx.pool, email, `${ctx.config.BASE_URL}/api`)
}
