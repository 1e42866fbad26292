import { refTo } from '#api/operations/answers.ts'
import { jsonWithFiles } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { SEND_ERRORS, sendMade, sendRequested } from '#api/send_requested.ts'
import { forwardEmail } from '#flows/receiving/forward_email.ts'
import { replyToEmail } from '#flows/receiving/reply_to_email.ts'
import { orNotFound } from '#lib/errors.ts'
import { NewForward, NewReply } from '#lib/receiving/new_reply.ts'
import { findEmailToForward, findEmailToReplyTo } from '#sql/receiving/emails_to_answer.ts'

/** Parts that replies and forwards share. */
const common = {
  access: 'full' as const,
  isSend: true,
  params: { id: uuidParam('Email') },
  headers: ['Idempotency-Key' as const],
  answers: { 200: refTo('email').meta({ id: 'SentAnswer' }) },
  errors: SEND_ERRORS,
}

export const receivedReplies = [
  operation('POST /emails/receiving/:id/reply', {
    ...common,
    id: 'replyToReceivedEmail',
    summary: 'Reply to a received email',
    body: jsonWithFiles(NewReply),
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    const original = orNotFound('Email', await findEmailToReplyTo(ctx.pool, { account_id, id }))
    const email = replyToEmail(original, body())
    return { object: 'email', id: await sendRequested(ctx, email, `/emails/receiving/${id}/reply`) }
  }),

  operation('POST /emails/receiving/:id/forward', {
    ...common,
    id: 'forwardReceivedEmail',
    summary: 'Forward a received email',
    body: jsonWithFiles(NewForward),
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    const original = orNotFound('Email', await findEmailToForward(ctx.pool, { account_id, id }))
    const forward = body()
    const make = () => forwardEmail(ctx.pool, account_id, original, forward)
    return { object: 'email', id: await sendMade(ctx, make, `/emails/receiving/${id}/forward`) }
  }),
]
