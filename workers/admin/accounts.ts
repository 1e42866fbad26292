import { BrandChange } from '#lib/domains/brand.ts'
import { PostalAddress } from '#lib/domains/new_domain.ts'
import { newId } from '#lib/ids.ts'
import { findAccount, insertAccount, setBrand, setPostalAddress } from '#sql/accounts/accounts.ts'
import { addCredits, listPlans, type Plan, setPlan, upsertPlan } from '#sql/accounts/plans.ts'
import type { Queryable } from '#sql/pool.ts'
import {
  accountNamed,
  type Command,
  changes,
  clearable,
  newName,
  type Option,
  optional,
  required,
  takes,
  UsageError,
  type Values,
  wholeNumber,
} from './values.ts'

/** Brand of the account's domains that have none of their own. */
const BRAND_OPTIONS: Option[] = ['brand-name', 'brand-color', 'brand-logo-url']

/** Commands for accounts and plans. */
export const accountCommands: Record<string, Command> = {
  'account create': changes(0, ['name', 'plan'], async ({ pool }, values) => {
    const plan = await planOf(pool, optional(values, 'plan') ?? 'unlimited')
    const account = { id: newId(), name: newName(required(values, 'name'), '--name'), plan: plan.name }
    if (await findAccount(pool, account.name)) throw new UsageError(`There is an account ${account.name} already.`)
    await insertAccount(pool, account)
    console.log(account.id)
    return { account_id: account.id, target: account.name }
  }),

  'account update': changes(
    1,
    ['plan', 'add-credits', 'postal-address', ...BRAND_OPTIONS],
    async ({ pool }, values, [name]) => {
      if (!name) throw new UsageError('Which account?')
      const { id, name: target } = await accountNamed(pool, name)
      const plan = optional(values, 'plan')
      const credits = wholeNumber(values, 'add-credits')
      const address = clearable(values, 'postal-address')
      if (Object.keys(values).length === 0) throw new UsageError('Nothing to update: give at least one option.')
      const brand = readBrand(values)
      await pool.transaction(async tx => {
        await setBrand(tx, id, brand)
        if (plan !== undefined) await setPlan(tx, id, (await planOf(tx, plan)).name)
        if (credits !== undefined) await addCredits(tx, id, credits)
        if (address !== undefined) await setPostalAddress(tx, id, readPostalAddress(address))
      })
      console.log(id)
      return { account_id: id, target }
    },
  ),

  'plan set': takes(
    1,
    ['per-day', 'per-month', 'domains', 'ai-credits', 'automation-runs'],
    async ({ pool }, values, [name]) => {
      if (!name) throw new UsageError('Which plan?')
      const limit = (option: string) => wholeNumber(values, option) ?? null
      const per = { emails_per_day: limit('per-day'), emails_per_month: limit('per-month') }
      const others = { ai_credits: limit('ai-credits'), automation_runs: limit('automation-runs') }
      const plan = { name: newName(name, 'The name of a plan'), ...per, domains: limit('domains'), ...others }
      await upsertPlan(pool, plan)
      console.log(describe(plan))
    },
  ),

  'plan list': takes(0, [], async ({ pool }) => {
    for (const plan of await listPlans(pool)) console.log(describe(plan))
  }),
}

function readBrand(values: Values): BrandChange {
  const part = (name: string) => clearable(values, `brand-${name}`)
  const { data, error } = BrandChange.safeParse({
    name: part('name'),
    color: part('color'),
    logo_url: part('logo-url'),
  })
  if (data) return data
  const [issue] = error.issues
  throw new UsageError(`--brand-${String(issue?.path[0]).replace('_', '-')} ${issue?.message}`)
}

function readPostalAddress(text: string | null): string | null {
  const { success, data } = PostalAddress.safeParse(text)
  if (!success) throw new UsageError('--postal-address must be one line of at most 500 characters')
  return data ?? null
}

async function planOf(db: Queryable, name: string): Promise<Plan> {
  const plans = await listPlans(db)
  const plan = plans.find(plan => plan.name === name)
  if (!plan) throw new UsageError(`--plan must be one of: ${plans.map(plan => plan.name).join(', ')}`)
  return plan
}

function describe({ name, emails_per_day, emails_per_month, domains, ai_credits, automation_runs }: Plan): string {
  const limits = {
    ...{ 'per day': emails_per_day, 'per month': emails_per_month, domains },
    ...{ 'AI credits': ai_credits, 'automation runs': automation_runs },
  }
  return [name, ...Object.entries(limits).map(([what, limit]) => `${what}: ${limit ?? 'no limit'}`)].join('  ')
}
