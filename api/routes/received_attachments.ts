import Router from '@koa/router'
import { beginReading, sendFile } from '#api/bodies/download.ts'
import type { Context, Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId, parseOptionalPage } from '#api/parse.ts'
import { notFound } from '#lib/errors.ts'
import { safeContentType, safeFilename } from '#lib/mail/attachment_limits.ts'
import { findReceivedAttachment, listReceivedAttachments } from '#sql/receiving/received_attachments.ts'
import { isReceivedEmail, type ReceivedEmailId } from '#sql/receiving/received_emails.ts'

export const receivedAttachments = new Router<State, Services>()

receivedAttachments.get('/emails/receiving/:id/attachments', fullAccess, async ctx => {
  const email = await emailOf(ctx)
  ctx.body = await listReceivedAttachments(ctx.pool, email, parseOptionalPage(ctx), ctx.config.BASE_URL)
})

receivedAttachments.get('/emails/receiving/:id/attachments/:attachment_id', fullAccess, async ctx => {
  const email = await emailOf(ctx)
  const file = await findReceivedAttachment(ctx.pool, email, parseId('Attachment', ctx.params.attachment_id))
  if (!file) throw notFound('Attachment')
  const { blob_id, size } = file
  const safe = { filename: safeFilename(file.filename), content_type: safeContentType(file.content_type), size }
  sendFile(ctx, safe, await beginReading(ctx.blobs.read(email.account_id, blob_id), size))
})

async function emailOf(ctx: Context): Promise<ReceivedEmailId> {
  const email = { account_id: ctx.state.caller.account_id, id: parseId('Email', ctx.params.id) }
  if (!(await isReceivedEmail(ctx.pool, email.account_id, email.id))) throw notFound('Email')
  return email
}
