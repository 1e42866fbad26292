import { beginReading, sendFile } from '#api/bodies/download.ts'
import type { Context } from '#api/context.ts'
import { bytes, listOf } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { Attachment, findStoredAttachment, listAttachments } from '#sql/sending/attachments.ts'
import { type EmailId, isEmail } from '#sql/sending/emails.ts'

const params = { id: uuidParam('Email') }
const fileParams = { ...params, attachment_id: uuidParam('Attachment') }

export const emailAttachments = [
  operation('GET /emails/:id/attachments', {
    id: 'listEmailAttachments',
    access: 'full',
    params,
    summary: 'List the attachments of an email',
    answers: {
      200: listOf(Attachment),
    },
  }).handle(async (ctx, { account_id, params: { id } }) => ({
    object: 'list',
    has_more: false,
    data: await listOfEmail(ctx, { account_id, id }),
  })),

  operation('GET /emails/:id/attachments/:attachment_id', {
    id: 'getEmailAttachment',
    access: 'full',
    params: fileParams,
    summary: 'Get an attachment of an email without its content',
    answers: { 200: Attachment },
  }).handle(async (ctx, { account_id, params: { id, attachment_id } }) => {
    const attachments = await listOfEmail(ctx, { account_id, id })
    return orNotFound(
      'Attachment',
      attachments.find(attachment => attachment.id === attachment_id),
    )
  }),

  operation('GET /emails/:id/attachments/:attachment_id/content', {
    id: 'downloadEmailAttachment',
    access: 'full',
    params: fileParams,
    summary: 'Download an attachment of an email',
    answers: { 200: bytes('*/*', 'The file, in its own content type.') },
  }).handle(async (ctx, { account_id, params: { id, attachment_id } }) => {
    const email = { account_id, id }
    await requireEmail(ctx, email)
    const file = orNotFound('Attachment', await findStoredAttachment(ctx.pool, email, attachment_id))
    sendFile(ctx, file, await beginReading(ctx.blobs.read(account_id, file.blob_id), file.size))
  }),
]

async function listOfEmail(ctx: Context, email: EmailId) {
  await requireEmail(ctx, email)
  return listAttachments(ctx.pool, email, `${ctx.config.BASE_URL}/api`)
}

async function requireEmail(ctx: Context, { account_id, id }: EmailId): Promise<void> {
  if (!(await isEmail(ctx.pool, account_id, id))) throw notFound('Email')
}
