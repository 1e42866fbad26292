import { beginReading, sendFile } from '#api/bodies/download.ts'
import type { Context } from '#api/context.ts'
import { bytes, listOf } from '#api/operations/answers.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { safeContentType, safeFilename, withCharset } from '#lib/mail/attachment_limits.ts'
import {
  findReceivedAttachment,
  listReceivedAttachments,
  ReceivedAttachment,
} from '#sql/receiving/received_attachments.ts'
import { isReceivedEmail, type ReceivedEmailId } from '#sql/receiving/received_emails.ts'

const params = { id: uuidParam('Email') }

export const receivedAttachments = [
  operation('GET /emails/receiving/:id/attachments', {
    id: 'listReceivedAttachments',
    access: 'full',
    params,
    summary: 'List the attachments of a received email',
    query: wholeQuery({}),
    answers: { 200: listOf(ReceivedAttachment) },
  }).handle(async (ctx, { account_id, params: { id }, query }) => {
    const email = { account_id, id }
    await requireEmail(ctx, email)
    return listReceivedAttachments(ctx.pool, email, query().position, ctx.config.BASE_URL)
  }),

  operation('GET /emails/receiving/:id/attachments/:attachment_id', {
    id: 'downloadReceivedAttachment',
    access: 'full',
    params: { ...params, attachment_id: uuidParam('Attachment') },
    summary: 'Download an attachment of a received email',
    answers: { 200: bytes('*/*', 'The file, in its own content type.') },
  }).handle(async (ctx, { account_id, params: { id, attachment_id } }) => {
    const email = { account_id, id }
    await requireEmail(ctx, email)
    const file = orNotFound('Attachment', await findReceivedAttachment(ctx.pool, email, attachment_id))
    const { blob_id, charset, size } = file
    const content_type = withCharset(safeContentType(file.content_type), charset)
    const safe = { filename: safeFilename(file.filename), content_type, size }
    sendFile(ctx, safe, await beginReading(ctx.blobs.read(account_id, blob_id), size))
  }),
]

async function requireEmail(ctx: Context, { account_id, id }: ReceivedEmailId): Promise<void> {
  if (!(await isReceivedEmail(ctx.pool, account_id, id))) throw notFound('Email')
}
