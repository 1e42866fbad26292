import { z } from 'zod'
import { contactOfFilter } from '#api/contact_ref.ts'
import { EmailQuery, emailFilters } from '#api/email_filters.ts'
import { listOf, refTo, SentEmail } from '#api/operations/answers.ts'
import { json, jsonWithFiles } from '#api/operations/bodies.ts'
import { operation } from '#api/operations/operation.ts'
import { uuidParam } from '#api/operations/params.ts'
import { pagedQuery } from '#api/operations/queries.ts'
import { SEND_ERRORS, sendRequested } from '#api/send_requested.ts'
import { type DoubtAction, decideDoubts } from '#flows/delivery/decide_doubts.ts'
import { tryNow } from '#flows/delivery/try_now.ts'
import { cancelEmail, rescheduleEmail } from '#flows/sending/change_schedule.ts'
import { ApiError, notFound, orNotFound } from '#lib/errors.ts'
import { NewEmail, Reschedule } from '#lib/sending/new_email.ts'
import { Email, ListedEmail } from '#sql/sending/email_records.ts'
import { findEmail, isEmail } from '#sql/sending/emails.ts'
import { listEmails } from '#sql/sending/search/email_list.ts'

const params = { id: uuidParam('Email') }
const ShownEmail = Email.omit({ content_id: true, variables: true, renderer: true }).meta({ id: 'Email' })

function decideEmail(action: DoubtAction, summary: string, description: string) {
  return operation(`POST /emails/:id/${action}`, {
    id: `${action}Email`,
    access: 'full',
    params,
    summary,
    description,
    answers: { 200: refTo('email').meta({ id: 'DecidedEmail' }) },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    if (!(await isEmail(ctx.pool, account_id, id))) throw notFound('Email')
    const count = await decideDoubts(ctx.pool, { account_id, email_id: id }, action)
    if (count === 0) throw new ApiError('validation_error', 'No recipient of this email is in doubt.')
    return { object: 'email', id }
  })
}

/** Attempts the waiting deliveries of an email immediately. */
const tryEmailNow = operation('POST /emails/:id/try-now', {
  id: 'tryEmailNow',
  access: 'full',
  params,
  summary: 'Try an email again without waiting for its next attempt',
  description: 'Retries immediately for recipients whose server asked to try again later.',
  answers: { 200: refTo('email').meta({ id: 'TriedEmail' }) },
}).handle(async (ctx, { account_id, params: { id } }) => {
  await tryNow(ctx.pool, { account_id, id })
  return { object: 'email', id }
})

export const emails = [
  operation('POST /emails', {
    id: 'sendEmail',
    access: 'sending',
    isSend: true,
    summary: 'Send an email',
    headers: ['Idempotency-Key'],
    body: jsonWithFiles(NewEmail),
    answers: { 200: SentEmail },
    errors: SEND_ERRORS,
  }).handle(async (ctx, { body }) => ({ id: await sendRequested(ctx, body(), '/emails') })),

  operation('GET /emails', {
    id: 'listEmails',
    access: 'full',
    summary: 'List sent emails, newest first',
    query: pagedQuery(EmailQuery),
    answers: { 200: listOf(ListedEmail) },
    errors: ['not_found'],
  }).handle(async (ctx, { account_id, query }) => {
    const { position, filters } = query()
    const contact = await contactOfFilter(ctx, filters, ['to', 'domain'])
    return listEmails(ctx.pool, account_id, position, emailFilters(filters, contact))
  }),

  operation('GET /emails/:id', {
    id: 'getEmail',
    access: 'full',
    params,
    summary: 'Get an email',
    answers: { 200: ShownEmail },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    const found = orNotFound('Email', await findEmail(ctx.pool, account_id, id))
    const { content_id, variables, renderer, ...email } = found
    return { ...email, ...(await ctx.renderEmail({ ...found, account_id })) }
  }),

  operation('PATCH /emails/:id', {
    id: 'rescheduleEmail',
    access: 'full',
    params,
    summary: 'Move a scheduled email',
    body: json(Reschedule),
    answers: {
      200: refTo('email')
        .extend({ scheduled_at: z.date().describe('When it is sent.') })
        .meta({ id: 'RescheduledEmail' }),
    },
    errors: ['missing_required_field'],
  }).handle(async (ctx, { account_id, params: { id }, body }) => {
    if (!(await isEmail(ctx.pool, account_id, id))) throw notFound('Email')
    const { scheduled_at: schedule } = body()
    await rescheduleEmail(ctx.pool, { account_id, id }, schedule)
    return { object: 'email', id, scheduled_at: schedule.at }
  }),

  operation('POST /emails/:id/cancel', {
    id: 'cancelEmail',
    access: 'full',
    params,
    summary: 'Cancel a scheduled email',
    answers: {
      200: refTo('email')
        .extend({ status: z.literal('canceled').describe('Its new status.') })
        .meta({ id: 'CanceledEmail' }),
    },
  }).handle(async (ctx, { account_id, params: { id } }) => {
    await cancelEmail(ctx.pool, { account_id, id })
    return { object: 'email', id, status: 'canceled' }
  }),

  tryEmailNow,
  decideEmail('retry', 'Send an email in doubt once more', 'Its recipients may get it twice.'),
  decideEmail('release', 'Treat an email in doubt as delivered', 'It is not sent again.'),
  decideEmail('drop', 'Give up an email in doubt', 'It is not sent again and becomes `failed`.'),
]
