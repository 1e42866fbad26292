import { domainToASCII } from 'node:url'
import { z } from 'zod'
import type { Foundation } from '#flows/process/run_process.ts'
import { TEXT_LINE } from '#lib/zod_fields.ts'
import { type Account, findAccount } from '#sql/accounts/accounts.ts'
import type { Domain } from '#sql/domains/columns.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import type { Pool } from '#sql/pool.ts'

/** An error in the words after `npm run admin --`. */
export class UsageError extends Error {}

export type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

/** A change that a command made to an account, for the audit log. */
export type Changed = { account_id: string; target: string }

type Run<Result> = (foundation: Foundation, values: Values, words: string[]) => Promise<Result>

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const

/** Every option, in the form that `parseArgs` takes. */
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

/** `words`: number of words after the name; `options`: the options that it takes. */
export type Command = { words: number; options: Option[]; run: Run<Changed[]> }

/** Declares a command that does not change a particular account. */
export const takes = (words: number, options: Option[], run: Run<void>): Command => ({
  ...{ words, options },
  run: async (...given) => {
    await run(...given)
    return []
  },
})

/** Declares a command that returns the changes that it made. */
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

/** Like `optional`, but an empty text means null. */
export function clearable(values: Values, name: string): string | null | undefined {
  return values[name] === '' ? null : optional(values, name)
}

export function required(values: Values, name: string): string {
  const value = optional(values, name)
  if (value === undefined) throw new UsageError(`--${name} is missing`)
  return value
}

const Name = z.string().trim().min(1).max(100).regex(TEXT_LINE)

/** Checks a new name by the rules of the dashboard, and returns it. `what`: the word or option that has it, for errors. */
export function newName(text: string, what: string): string {
  const { success, data } = Name.safeParse(text)
  if (!success) throw new UsageError(`${what} must be one line of 1 to 100 characters`)
  return data
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

/** Returns a whole number, or undefined without the option. */
export function wholeNumber(values: Values, name: string): number | undefined {
  const text = optional(values, name)
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number of at most 9 digits`)
  return Number(text)
}

const MAX_LISTED = 10_000

/** Returns how many rows a list prints at most: `--limit`, or 50. */
export function listLimit(values: Values): number {
  const limit = Number(optional(values, 'limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LISTED) {
    throw new UsageError(`--limit must be a number from 1 to ${MAX_LISTED}`)
  }
  return limit
}

/** Returns text as one line without control characters, since strangers may have written it. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '?')
}
