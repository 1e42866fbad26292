import Router from '@koa/router'
import { z } from 'zod'
import { beginReading, sendFile } from '#api/bodies/download.ts'
import { readBody } from '#api/bodies/read_body.ts'
import type { Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { parseId, parseOptionalPage } from '#api/parse.ts'
import { parseReceivedFilters } from '#api/received_filters.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { deliveredMessage } from '#lib/receiving/delivered_message.ts'
import { traceFields } from '#lib/receiving/trace_fields.ts'
import { findReceivedEmail, listReceivedEmails } from '#sql/receiving/received_email_list.ts'
import { deleteReceivedEmail, findRaw, isReceivedEmail, markRead } from '#sql/receiving/received_emails.ts'

/** Nothing makes an email unread again. */
const ReadMark = z.object({ read: z.literal(true, 'can only be true').optional() })

export const receivedEmails = new Router<State, Services>()

receivedEmails.get('/emails/receiving', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const position = parseOptionalPage(ctx)
  ctx.body = await listReceivedEmails(ctx.pool, account_id, position, ctx.config.BASE_URL, parseReceivedFilters(ctx))
})

receivedEmails.get('/emails/receiving/:id', fullAccess, async ctx => {
  const id = parseId('Email', ctx.params.id)
  const email = await findReceivedEmail(ctx.pool, ctx.state.caller.account_id, id, ctx.config.BASE_URL)
  if (!email) throw notFound('Email')
  ctx.body = email
})

receivedEmails.patch('/emails/receiving/:id', fullAccess, readBody, async ctx => {
  const { account_id } = ctx.state.caller
  const id = parseId('Email', ctx.params.id)
  if (!(await isReceivedEmail(ctx.pool, account_id, id))) throw notFound('Email')
  if (ctx.state.body !== undefined) parse(ReadMark, ctx.state.body)
  const read_at = await markRead(ctx.pool, account_id, id)
  if (!read_at) throw notFound('Email') // deleted at that moment
  ctx.body = { object: 'received_email', id, read: true, read_at }
})

receivedEmails.delete('/emails/receiving/:id', fullAccess, async ctx => {
  const id = parseId('Email', ctx.params.id)
  if (!(await deleteReceivedEmail(ctx.pool, ctx.state.caller.account_id, id))) throw notFound('Email')
  ctx.body = { object: 'received_email', id, deleted: true }
})

receivedEmails.get('/emails/receiving/:id/raw', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const id = parseId('Email', ctx.params.id)
  const raw = await findRaw(ctx.pool, account_id, id)
  if (!raw) throw notFound('Email')
  const trace = traceFields({ ...raw, id, by: ctx.config.HELO_NAME })
  const stored = { size: raw.size, pieces: ctx.blobs.read(account_id, raw.raw_blob_id) }
  const { size, pieces } = await deliveredMessage(trace, stored)
  const file = { filename: `${id}.eml`, content_type: 'message/rfc822', size }
  sendFile(ctx, file, await beginReading(pieces, size))
})
