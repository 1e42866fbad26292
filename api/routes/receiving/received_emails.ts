import { z } from 'zod'
import { beginReading, sendFile } from '#api/bodies/download.ts'
import { contactOfFilter } from '#api/contact_ref.ts'
import { bytes, deleted, listOf, refTo } from '#api/operations/answers.ts'
import { json } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { wholeQuery } from '#api/operations/queries.ts'
import { ReceivedQuery, receivedFilters } from '#api/received_filters.ts'
import { notFound, orNotFound } from '#lib/errors.ts'
import { deliveredMessage } from '#lib/receiving/delivered_message.ts'
import { traceFields } from '#lib/receiving/trace_fields.ts'
import {
  findReceivedEmail,
  ListedReceivedEmail,
  listReceivedEmails,
  ReceivedEmail,
} from '#sql/receiving/received_email_list.ts'
import { deleteReceivedEmail, findRaw, isReceivedEmail, markRead } from '#sql/receiving/received_emails.ts'

const params = { id: uuidParam('Email') }

const ReadMark = z
  .object({ read: z.literal(true).optional().describe('Only true: an email cannot be marked as unread.') })
  .meta({ id: 'ReadMark' })

export const receivedEmails = [
  operation('GET /emails/receiving', {
    id: 'listReceivedEmails',
    access: 'full',
    summary: 'List received emails, newest first',
    query: wholeQuery(ReceivedQuery),
    answers: { 200: listOf(ListedReceivedEmail) },
    errors: ['not_found'],
  }).handle(async (ctx, { account_id, query }) => {
    const { position, filters } = query()
    const contact = await contactOfFilter(ctx, filters, ['from', 'domain'])
    const found = receivedFilters(filters, contact)
    return listReceivedEmails(ctx.pool, account_id, position, ctx.config.BASE_URL, found)
  }),

  operation('GET /emails/receiving/:id', {
    id: 'getReceivedEmail',
    access: 'full',
    params,
    summary: 'Get a received email',
    answers: { 200: ReceivedEmail },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    return orNotFound('Email', await findReceivedEmail(ctx.pool, account_id, id, ctx.config.BASE_URL))
  }),

  operation('PATCH /emails/receiving/:id', {
    id: 'markReceivedEmailRead',
    access: 'full',
    isAudited: false,
    params,
    summary: 'Mark a received email as read',
    body: json(ReadMark.optional()),
    answers: {
      200: refTo('received_email')
        .extend({
          read: z.literal(true).describe('Always true.'),
          read_at: z.date().describe('When it was first marked as read.'),
        })
        .meta({ id: 'MarkedReceivedEmail' }),
    },
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    if (!(await isReceivedEmail(ctx.pool, account_id, id))) throw notFound('Email')
    body()
    const read_at = orNotFound('Email', await markRead(ctx.pool, account_id, id)) // deleted at that moment
    return { object: 'received_email', id, read: true, read_at }
  }),

  operation('DELETE /emails/receiving/:id', {
    id: 'deleteReceivedEmail',
    access: 'full',
    params,
    summary: 'Delete a received email',
    answers: { 200: deleted('received_email') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    if (!(await deleteReceivedEmail(ctx.pool, account_id, id))) throw notFound('Email')
    return { object: 'received_email', id, deleted: true }
  }),

  operation('GET /emails/receiving/:id/raw', {
    id: 'downloadReceivedEmail',
    access: 'full',
    params,
    summary: 'Download a received email as it came',
    answers: { 200: bytes('message/rfc822', 'The message, with the trace fields of this server before it.') },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const raw = orNotFound('Email', await findRaw(ctx.pool, account_id, id))
    const trace = traceFields({ ...raw, id, by: ctx.config.HELO_NAME })
    const stored = { size: raw.size, pieces: ctx.blobs.read(account_id, raw.raw_blob_id) }
    const { size, pieces } = await deliveredMessage(trace, stored)
    const file = { filename: `${id}.eml`, content_type: 'message/rfc822', size }
    sendFile(ctx, file, await beginReading(pieces, size))
  }),
]
