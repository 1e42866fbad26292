import Router from '@koa/router'
import { readBody } from '#api/bodies/read_body.ts'
import { readEmailBody } from '#api/bodies/upload.ts'
import type { Services, State } from '#api/context.ts'
import { parseEmailFilters } from '#api/email_filters.ts'
import { fullAccess, sendingAccess } from '#api/middleware/auth.ts'
import { limitSends } from '#api/middleware/rate_limit.ts'
import { parseId, parsePage } from '#api/parse.ts'
import { sendEmail } from '#api/send_email.ts'
import { cancelEmail, rescheduleEmail } from '#flows/sending/change_schedule.ts'
import { notFound } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { NewEmail, Reschedule } from '#lib/sending/new_email.ts'
import { findEmail, isEmail } from '#sql/sending/emails.ts'
import { listEmails } from '#sql/sending/search/email_list.ts'

export const emails = new Router<State, Services>()

emails.post('/emails', sendingAccess, limitSends, readEmailBody, async ctx => {
  ctx.body = { id: await sendEmail(ctx, parse(NewEmail, ctx.state.body), '/emails') }
})

emails.get('/emails', fullAccess, async ctx => {
  ctx.body = await listEmails(ctx.pool, ctx.state.caller.account_id, parsePage(ctx), parseEmailFilters(ctx))
})

emails.get('/emails/:id', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const found = await findEmail(ctx.pool, account_id, parseId('Email', ctx.params.id))
  if (!found) throw notFound('Email')
  const { content_id, variables, renderer, ...email } = found
  ctx.body = { ...email, ...(await ctx.renderEmail({ ...found, account_id })) }
})

emails.patch('/emails/:id', fullAccess, readBody, async ctx => {
  const email = { account_id: ctx.state.caller.account_id, id: parseId('Email', ctx.params.id) }
  if (!(await isEmail(ctx.pool, email.account_id, email.id))) throw notFound('Email')
  const { scheduled_at: schedule } = parse(Reschedule, ctx.state.body)
  await rescheduleEmail(ctx.pool, email, schedule)
  ctx.body = { object: 'email', id: email.id, scheduled_at: schedule.at }
})

emails.post('/emails/:id/cancel', fullAccess, async ctx => {
  const email = { account_id: ctx.state.caller.account_id, id: parseId('Email', ctx.params.id) }
  await cancelEmail(ctx.pool, email)
  ctx.body = { object: 'email', id: email.id, status: 'canceled' }
})
