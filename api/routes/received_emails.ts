import Router from '@koa/router'
import { notFound } from '../../lib/errors.ts'
import { findRaw, findReceivedEmail, listReceivedEmails } from '../../sql/received_email_list.ts'
import { fullAccess } from '../auth.ts'
import type { Services, State } from '../context.ts'
import { beginReading, sendFile } from '../download.ts'
import { parseId, parseOptionalPage } from '../parse.ts'

export const receivedEmails = new Router<State, Services>()

receivedEmails.get('/emails/receiving', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  ctx.body = await listReceivedEmails(ctx.pool, account_id, parseOptionalPage(ctx), ctx.config.BASE_URL)
})

receivedEmails.get('/emails/receiving/:id', fullAccess, async ctx => {
  const id = parseId('Email', ctx.params.id)
  const email = await findReceivedEmail(ctx.pool, ctx.state.caller.account_id, id, ctx.config.BASE_URL)
  if (!email) throw notFound('Email')
  ctx.body = email
})

receivedEmails.get('/emails/receiving/:id/raw', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const id = parseId('Email', ctx.params.id)
  const raw = await findRaw(ctx.pool, account_id, id)
  if (!raw) throw notFound('Email')
  const file = { filename: `${id}.eml`, content_type: 'message/rfc822', size: raw.size }
  sendFile(ctx, file, await beginReading(ctx.blobs.read(account_id, raw.raw_blob_id), raw.size))
})
