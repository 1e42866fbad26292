import Router from '@koa/router'
import { cancelEmail, rescheduleEmail } from '../../flows/change_schedule.ts'
import { notFound } from '../../lib/errors.ts'
import { NewEmail, Reschedule } from '../../lib/new_email.ts'
import type { Draft } from '../../sql/drafts.ts'
import { findEmail, isEmail, listEmails } from '../../sql/emails.ts'
import { fullAccess, sendingAccess } from '../auth.ts'
import { readBody } from '../body.ts'
import type { Services, State } from '../context.ts'
import { readRequestKey } from '../idempotency.ts'
import { parse, parseId, parsePage } from '../parse.ts'
import { limitSends } from '../rate_limit.ts'
import { readEmailBody } from '../upload.ts'

export const emails = new Router<State, Services>()

emails.post('/emails', sendingAccess, limitSends, readEmailBody, async ctx => {
  const email = parse(NewEmail, ctx.state.body)
  const key = readRequestKey(ctx, '/emails')
  const [draft] = await ctx.prepareDrafts(ctx.state.caller, [email], key)
  const { id, replayed } = await ctx.acceptEmail(draft as Draft)
  if (replayed) ctx.set('idempotent-replayed', 'true')
  ctx.body = { id }
})

emails.get('/emails', fullAccess, async ctx => {
  ctx.body = await listEmails(ctx.pool, ctx.state.caller.account_id, parsePage(ctx))
})

emails.get('/emails/:id', fullAccess, async ctx => {
  const email = await findEmail(ctx.pool, ctx.state.caller.account_id, parseId('Email', ctx.params.id))
  if (!email) throw notFound('Email')
  ctx.body = email
})

emails.patch('/emails/:id', fullAccess, readBody, async ctx => {
  const email = { account_id: ctx.state.caller.account_id, id: parseId('Email', ctx.params.id) }
  if (!(await isEmail(ctx.pool, email.account_id, email.id))) throw notFound('Email')
  const { scheduled_at } = parse(Reschedule, ctx.state.body)
  await rescheduleEmail(ctx.pool, email, scheduled_at)
  ctx.body = { object: 'email', id: email.id, scheduled_at }
})

emails.post('/emails/:id/cancel', fullAccess, async ctx => {
  const email = { account_id: ctx.state.caller.account_id, id: parseId('Email', ctx.params.id) }
  await cancelEmail(ctx.pool, email)
  ctx.body = { object: 'email', id: email.id, status: 'canceled' }
})
