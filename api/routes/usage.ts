import Router from '@koa/router'
import type { Services, State } from '#api/context.ts'
import { fullAccess } from '#api/middleware/auth.ts'
import { now } from '#lib/clock.ts'
import { findAccountUsage, findWindowUsage, type WindowUsage } from '#sql/accounts/usage.ts'

export const usage = new Router<State, Services>()

/** For features that this version does not have. */
const NOTHING = { used: 0, limit: null }

/** The record of the resend package, with `credits` and `next_increase_at` of the emails besides (contract 17). */
usage.get('/usage', fullAccess, async ctx => {
  const { account_id } = ctx.state.caller
  const generated_at = now()
  const daily = await findWindowUsage(ctx.pool, account_id, 'day')
  const monthly = await findWindowUsage(ctx.pool, account_id, 'month')
  const account = await findAccountUsage(ctx.pool, account_id)
  ctx.body = {
    object: 'usage',
    generated_at,
    emails: { daily: present(daily, generated_at), monthly: present(monthly, generated_at) },
    credits: { remaining: account.credits },
    contacts: NOTHING,
    segments: NOTHING,
    broadcasts: NOTHING,
    ai_credits: { used: account.ai_used, limit: account.ai_limit, next_increase_at: account.ai_next_at },
    automation_runs: { ...NOTHING, resets_at: generated_at },
    domains: { used: account.domains, limit: account.domain_limit },
    rate_limit: { limit: ctx.config.SENDS_PER_MINUTE || null, duration: '1m' },
  }
})

/** A window moves on all the time: `resets_at` is when all that is used now has left it. */
function present({ limit, sent, received, next_at, last_at }: WindowUsage, generated_at: Date): object {
  const used = sent + received
  return { used, limit, sent, received, next_increase_at: next_at, resets_at: last_at ?? generated_at }
}
