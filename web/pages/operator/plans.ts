import { z } from 'zod'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'
import { parse } from '#lib/json/parse.ts'
import { type Account, findAccount } from '#sql/accounts/accounts.ts'
import { listPlans, setPlan, upsertPlan } from '#sql/accounts/plans.ts'
import { html } from '#web/html.ts'
import { optionsOf } from '#web/layout/field.ts'
import { form } from '#web/layout/form.ts'
import { facts } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { type Action, action, page, type Visit } from '#web/request/visit.ts'
import { audit, requireOperator } from './rights.ts'

const LIMITS = {
  emails_per_day: 'Emails per 24 hours',
  emails_per_month: 'Emails per 30 days',
  domains: 'Domains',
  ai_credits: 'AI credits per 30 days',
  automation_runs: 'Automation runs per 30 days',
}

const limit = z
  .string()
  .regex(/^\d{0,9}$/, 'must be a whole number of at most 9 digits, or empty')
  .transform(text => (text === '' ? null : Number(text)))

const PlanForm = z.object({
  name: z.string().regex(/^[^\p{C}]{1,100}$/u, 'must be one line of 1 to 100 characters'),
  ...{ emails_per_day: limit, emails_per_month: limit, domains: limit, ai_credits: limit, automation_runs: limit },
})

const back = html`<p><a href="/operator">Back to Operator</a></p>`

/** A form for a new plan, or for the existing one in `?name=`. */
export const plan = page('/operator/plan', async visit => {
  requireOperator(visit)
  const found = (await listPlans(visit.ctx.pool)).find(({ name }) => name === visit.query.name)
  const limits = Object.entries(LIMITS).map(([name, label]) => {
    const value = found?.[name as keyof typeof LIMITS]
    return { name, label, value: value == null ? '' : String(value), hint: 'Leave empty for no limit.' }
  })
  const hint = 'If the plan exists, it changes for all accounts that use it.'
  return {
    title: found ? `Plan ${found.name}` : 'New plan',
    body: html`${form(visit, {
      ...{ action: '/operator/plan', submit: 'Save plan' },
      fields: [{ name: 'name', label: 'Name', value: found?.name, hint, required: true }, ...limits],
    })}
${back}`,
  }
})

/** An account, with a form that changes its plan. */
export const account = page('/operator/accounts/:id', async visit => {
  const found = await accountOf(visit)
  const names = (await listPlans(visit.ctx.pool)).map(({ name }) => name)
  return {
    title: `Account ${found.name}`,
    body: html`${facts([
      ['ID', found.id],
      ['Plan', found.plan],
    ])}
${form(visit, {
  ...{ action: `/operator/accounts/${found.id}`, submit: 'Change plan' },
  fields: [{ name: 'plan', label: 'Plan', type: 'select', value: found.plan, options: optionsOf(names) }],
})}
${back}`,
  }
})

/** @throws {ApiError} 404 */
async function accountOf(visit: Visit): Promise<Account> {
  requireOperator(visit)
  const { id } = idOf(visit)
  return orNotFound('Account', isUuid(id) ? await findAccount(visit.ctx.pool, id) : null)
}

export const planActions: Action[] = [
  action('/operator/plan', plan, async (visit, form) => {
    requireOperator(visit)
    const limits = Object.keys(LIMITS).map(name => [name, form.text(name)])
    const saved = parse(PlanForm, { name: form.text('name'), ...Object.fromEntries(limits) })
    await upsertPlan(visit.ctx.pool, saved)
    await audit(visit, 'plan set', saved.name)
    return { to: '/operator', notice: `Plan ${saved.name} saved.` }
  }),
  action('/operator/accounts/:id', account, async (visit, form) => {
    const { id, name } = await accountOf(visit)
    const chosen = form.text('plan')
    const names = (await listPlans(visit.ctx.pool)).map(one => one.name)
    if (!names.includes(chosen)) throw new ApiError('validation_error', '`plan` must be the name of a plan.')
    await setPlan(visit.ctx.pool, id, chosen)
    await audit(visit, 'account update', name, id)
    return { to: `/operator/accounts/${id}`, notice: `Plan changed to ${chosen}.` }
  }),
]
