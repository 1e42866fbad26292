import Router from '@koa/router'
import { readEmailBody } from '#api/bodies/upload.ts'
import type { Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { limitSends } from '#api/middleware/rate_limit.ts'
import { parseId } from '#api/parse.ts'
import { sendEmail } from '#api/send_email.ts'
import { forwardEmail } from '#flows/receiving/forward_email.ts'
import { replyToEmail } from '#flows/receiving/reply_to_email.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { NewForward, NewReply } from '#lib/receiving/new_reply.ts'
import { findEmailToForward, findEmailToReplyTo } from '#sql/receiving/emails_to_answer.ts'

export const receivedReplies = new Router<State, Services>()

receivedReplies.post('/emails/receiving/:id/reply', fullAccess, limitSends, readEmailBody, async ctx => {
  const id = parseId('Email', ctx.params.id)
  const original = await findEmailToReplyTo(ctx.pool, { account_id: ctx.state.caller.account_id, id })
  if (!original) throw notFound('Email')
  const email = replyToEmail(original, parse(NewReply, ctx.state.body))
  ctx.body = { object: 'email', id: await sendEmail(ctx, email, `/emails/receiving/${id}/reply`) }
})

receivedReplies.post('/emails/receiving/:id/forward', fullAccess, limitSends, readEmailBody, async ctx => {
  const { account_id } = ctx.state.caller
  const id = parseId('Email', ctx.params.id)
  const original = await findEmailToForward(ctx.pool, { account_id, id })
  if (!original) throw notFound('Email')
  const email = await forwardEmail(ctx.pool, account_id, original, parse(NewForward, ctx.state.body))
  ctx.body = { object: 'email', id: await sendEmail(ctx, email, `/emails/receiving/${id}/forward`) }
})
