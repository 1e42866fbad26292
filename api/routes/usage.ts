import { z } from 'zod'
import { operation } from '#api/operations/operation.ts'
import { now } from '#lib/clock.ts'
import { findAccountUsage, findWindowUsage, type WindowUsage } from '#sql/accounts/usage.ts'

const Limited = z.object({ used: z.number(), limit: z.number().nullable() }).meta({ id: 'QuotaUse' })
const WindowOfUsage = Limited.extend({
  sent: z.int(),
  received: z.int(),
  next_increase_at: z.date().nullable(),
  resets_at: z.date(),
}).meta({ id: 'WindowOfUsage' })

/** The record of the resend package, with `credits` and `next_increase_at` of the emails besides (contract 17). */
const Usage = z
  .object({
    object: z.literal('usage'),
    generated_at: z.date(),
    emails: z.object({ daily: WindowOfUsage, monthly: WindowOfUsage }),
    credits: z.object({ remaining: z.number() }),
    contacts: Limited,
    segments: Limited,
    broadcasts: Limited,
    ai_credits: Limited.extend({ next_increase_at: z.date().nullable() }),
    automation_runs: Limited.extend({ resets_at: z.date() }),
    domains: Limited,
    rate_limit: z.object({ limit: z.int().nullable(), duration: z.literal('1m') }),
  })
  .meta({ id: 'Usage' })

/** For features that this version does not have. */
const NOTHING = { used: 0, limit: null }

export const usage = [
  operation('GET /usage', {
    id: 'getUsage',
    access: 'full',
    summary: 'Get what the account has used of its quotas',
    answers: { 200: Usage },
  }).handle(async (ctx, { account_id }) => {
    const generated_at = now()
    const daily = await findWindowUsage(ctx.pool, account_id, 'day')
    const monthly = await findWindowUsage(ctx.pool, account_id, 'month')
    const account = await findAccountUsage(ctx.pool, account_id)
    return {
      object: 'usage',
      generated_at,
      emails: { daily: present(daily, generated_at), monthly: present(monthly, generated_at) },
      credits: { remaining: account.credits },
      contacts: { used: account.contacts, limit: null },
      segments: { used: account.segments, limit: null },
      broadcasts: NOTHING,
      ai_credits: { used: account.ai_used, limit: account.ai_limit, next_increase_at: account.ai_next_at },
      automation_runs: { ...NOTHING, resets_at: generated_at },
      domains: { used: account.domains, limit: account.domain_limit },
      rate_limit: { limit: ctx.config.SENDS_PER_MINUTE || null, duration: '1m' },
    }
  }),
]

/** A window moves on all the time: `resets_at` is when all that is used now has left it. */
function present({ limit, sent, received, next_at, last_at }: WindowUsage, generated_at: Date) {
  const used = sent + received
  return { used, limit, sent, received, next_increase_at: next_at, resets_at: last_at ?? generated_at }
}
