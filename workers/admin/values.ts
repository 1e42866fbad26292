import { domainToASCII } from 'node:url'
import type { Foundation } from '#flows/process/run_process.ts'
import { type Account, findAccount } from '#sql/accounts/accounts.ts'
import type { Domain } from '#sql/domains/columns.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import type { Pool } from '#sql/pool.ts'

/** The words after `npm run admin --` make no sense. */
export class UsageError extends Error {}

export type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

/** What a command has changed of an account, for the audit log. */
export type Changed = { account_id: string; target: string }

type Run<Result> = (foundation: Foundation, values: Values, words: string[]) => Promise<Result>

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const

/** Every option there is, as `parseArgs` takes them. */
export const options = {
  ...{ account: text, domain: text, expires: text, limit: text, name: text, plan: text, reason: text, role: text },
  ...{ 'brand-name': text, 'brand-color': text, 'brand-logo-url': text },
  ...{
    'add-credits': text,
    'ai-credits': text,
    'automation-runs': text,
    'default-domain': text,
    domains: text,
    'per-day': text,
    'per-month': text,
    'postal-address': text,
  },
  ...{ 'sending-only': flag, verified: flag, now: flag },
}
export type Option = keyof typeof options

/** `words`: how many follow its name; `options`: those it knows. */
export type Command = { words: number; options: Option[]; run: Run<Changed[]> }

/** A command that changes nothing of a single account. */
export const takes = (words: number, options: Option[], run: Run<void>): Command => ({
  ...{ words, options },
  run: async (...given) => {
    await run(...given)
    return []
  },
})

/** A command that returns what it has changed. */
export const changes = (words: number, options: Option[], run: Run<Changed | Changed[]>): Command => ({
  ...{ words, options },
  run: async (...given) => [await run(...given)].flat(),
})

export function optional(values: Values, name: string): string | undefined {
  const value = values[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} needs a value`)
  return value
}

/** As `optional`, but an empty text is a value: null. */
export function clearable(values: Values, name: string): string | null | undefined {
  return values[name] === '' ? null : optional(values, name)
}

export function required(values: Values, name: string): string {
  const value = optional(values, name)
  if (value === undefined) throw new UsageError(`--${name} is missing`)
  return value
}

export function accountOf(pool: Pool, values: Values): Promise<Account> {
  return accountNamed(pool, required(values, 'account'))
}

export async function accountNamed(pool: Pool, name: string): Promise<Account> {
  const account = await findAccount(pool, name)
  if (!account) throw new UsageError(`There is no account ${name}.`)
  return account
}

export async function domainNamed(pool: Pool, account: Account, name: string): Promise<Domain> {
  const domain = await findDomainByName(pool, account.id, domainToASCII(name))
  if (!domain) throw new UsageError(`The account ${account.name} has no domain ${name}.`)
  return domain
}

/** A whole number, or undefined without the option. */
export function wholeNumber(values: Values, name: string): number | undefined {
  const text = optional(values, name)
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number of at most 9 digits`)
  return Number(text)
}

const MAX_LISTED = 10_000

/** Returns how many rows a list prints, as `--limit` says. */
export function listLimit(values: Values): number {
  const limit = Number(optional(values, 'limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LISTED) {
    throw new UsageError(`--limit must be a number from 1 to ${MAX_LISTED}`)
  }
  return limit
}

/** On one line and without power over the terminal: it is whatever somebody wrote. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '?')
}
