import { z } from 'zod'
import { operation } from '#api/operations/operation.ts'
import { now } from '#lib/clock.ts'
import { findAccountUsage, findWindowUsage, type WindowUsage } from '#sql/accounts/usage.ts'

const Limited = z
  .object({
    used: z.number().describe('How much is used.'),
    limit: z.number().nullable().describe('How much may be used; null: no limit.'),
  })
  .meta({ id: 'QuotaUse' })
const WindowOfUsage = Limited.extend({
  sent: z.int().describe('Recipients of sent emails.'),
  received: z.int().describe('Recipients of received emails.'),
  next_increase_at: z
    .date()
    .nullable()
    .describe('When the first part of the used quota becomes available again; null: nothing is used.'),
  resets_at: z.date().describe('When everything that is used now is available again.'),
}).meta({ id: 'WindowOfUsage' })

/** The record of the resend package, plus `credits`, and `next_increase_at` for emails. */
const Usage = z
  .object({
    object: z.literal('usage'),
    generated_at: z.date().describe('Time of these figures.'),
    emails: z
      .object({
        daily: WindowOfUsage.describe('The last 24 hours.'),
        monthly: WindowOfUsage.describe('The last 30 days.'),
      })
      .describe('Emails sent and received. Each recipient counts as one.'),
    credits: z
      .object({ remaining: z.number().describe('How many are left.') })
      .describe('Emails available beyond the monthly quota.'),
    contacts: Limited.describe('Contacts of the account.'),
    segments: Limited.describe('Segments of the account.'),
    broadcasts: Limited.describe('Campaigns of the account.'),
    ai_credits: Limited.extend({
      next_increase_at: z
        .date()
        .nullable()
        .describe('When the first used credit is available again; null: none is used.'),
    }).describe('AI credits used in the last 30 days to classify replies.'),
    automation_runs: Limited.extend({
      resets_at: z.date().describe('When everything that is used now is available again.'),
    }).describe('Automation runs started in the last 30 days.'),
    domains: Limited.describe('Domains of the account.'),
    rate_limit: z
      .object({
        limit: z.int().nullable().describe('Send requests; null: no limit.'),
        duration: z.literal('1m').describe('Per minute.'),
      })
      .describe('Limit of send requests per client address.'),
  })
  .meta({ id: 'Usage' })

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
      broadcasts: { used: account.campaigns, limit: null },
      ai_credits: { used: account.ai_used, limit: account.ai_limit, next_increase_at: account.ai_next_at },
      automation_runs: {
        ...{ used: account.runs_used, limit: account.runs_limit },
        resets_at: account.runs_last_at ?? generated_at,
      },
      domains: { used: account.domains, limit: account.domain_limit },
      rate_limit: { limit: ctx.config.SENDS_PER_MINUTE || null, duration: '1m' },
    }
  }),
]

/** The window moves continuously: at `resets_at`, everything that is used now has left it. */
function present({ limit, sent, received, next_at, last_at }: WindowUsage, generated_at: Date) {
  const used = sent + received
  return { used, limit, sent, received, next_increase_at: next_at, resets_at: last_at ?? generated_at }
}
