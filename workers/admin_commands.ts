import { v7 as uuid } from 'uuid'
import { createApiKey } from '../flows/create_api_key.ts'
import { createDomain } from '../flows/create_domain.ts'
import type { Foundation } from '../flows/run_process.ts'
import { hashApiKey, isWellFormedApiKey } from '../lib/api_key.ts'
import { type Account, findAccount, insertAccount } from '../sql/accounts.ts'
import { revokeApiKey } from '../sql/api_keys.ts'
import { findCapturedMessage, listCapturedMessages } from '../sql/captured_messages.ts'
import { findDomainByName } from '../sql/domains.ts'
import type { Pool } from '../sql/pool.ts'

/** The words after `npm run admin --` make no sense. */
export class UsageError extends Error {}

export const USAGE = `
npm run admin -- account create --name NAME [--plan PLAN]
                 key create --account ACCOUNT --name NAME [--sending-only] [--domain DOMAIN] [--expires ISO]
                 key revoke KEY_OR_ID
                 domain add NAME --account ACCOUNT [--verified]
                 captured list [--limit N]
                 captured show ID
An ACCOUNT is given by its name or its id.`

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>
export type Command = (foundation: Foundation, values: Values, words: string[]) => Promise<void>

const PLANS = ['free', 'unlimited']

/** Each prints what was asked for on stdout, nothing else, so that scripts can use it. */
export const commands: Record<string, Command> = {
  'account create': async ({ pool }, values) => {
    const plan = optional(values, 'plan') ?? 'unlimited'
    if (!PLANS.includes(plan)) throw new UsageError(`--plan must be one of: ${PLANS.join(', ')}`)
    const account = { id: uuid(), name: required(values, 'name'), plan }
    if (await findAccount(pool, account.name)) throw new UsageError(`There is an account ${account.name} already.`)
    await insertAccount(pool, account)
    console.log(account.id)
  },

  'key create': async ({ pool, secrets }, values) => {
    const name = required(values, 'name')
    const account = await accountOf(pool, values)
    const domain = optional(values, 'domain')
    const key = await createApiKey(pool, secrets, {
      account_id: account.id,
      name,
      permission: values['sending-only'] ? 'sending_access' : 'full_access',
      domain_id: domain ? await domainId(pool, account, domain) : null,
      expires_at: expiry(values),
    })
    console.log(key)
  },

  'key revoke': async ({ pool, secrets }, _values, [key]) => {
    if (!key) throw new UsageError('Which key?')
    const hash = isWellFormedApiKey(key) ? hashApiKey(key, secrets.pepper) : null
    const isId = /^[0-9a-f-]{36}$/i.test(key)
    if (!hash && !isId) throw new UsageError('A key is given whole (mb_...) or by its id.')
    if (!(await revokeApiKey(pool, isId ? key : null, hash))) throw new UsageError('There is no such key in use.')
    console.log('revoked')
  },

  'domain add': async ({ pool, secrets }, values, [name]) => {
    if (!name) throw new UsageError('Which domain?')
    const account = await accountOf(pool, values)
    const domain = await createDomain(pool, secrets, {
      account_id: account.id,
      name,
      isVerified: Boolean(values.verified),
    })
    console.log(domain.id)
  },

  'captured list': async ({ pool }, values) => {
    const limit = Number(optional(values, 'limit') ?? 50)
    if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be a positive number')
    for (const { id, created_at, recipient, subject, size } of await listCapturedMessages(pool, limit)) {
      console.log([id, created_at.toISOString(), recipient, `${size} bytes`, subject].join('  '))
    }
  },

  'captured show': async ({ pool }, _values, [id]) => {
    if (!id || !/^[0-9a-f-]{36}$/i.test(id)) throw new UsageError('Which message? Its id is in: captured list')
    const found = await findCapturedMessage(pool, id)
    if (!found) throw new UsageError(`There is no captured message ${id}.`)
    process.stdout.write(found.message)
  },
}

function optional(values: Values, name: string): string | undefined {
  const value = values[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} needs a value`)
  return value
}

function required(values: Values, name: string): string {
  const value = optional(values, name)
  if (value === undefined) throw new UsageError(`--${name} is missing`)
  return value
}

async function accountOf(pool: Pool, values: Values): Promise<Account> {
  const name = required(values, 'account')
  const account = await findAccount(pool, name)
  if (!account) throw new UsageError(`There is no account ${name}.`)
  return account
}

async function domainId(pool: Pool, account: Account, name: string): Promise<string> {
  const domain = await findDomainByName(pool, account.id, name.toLowerCase())
  if (!domain) throw new UsageError(`The account ${account.name} has no domain ${name}.`)
  return domain.id
}

function expiry(values: Values): string | null {
  const text = optional(values, 'expires')
  if (text === undefined) return null
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw new UsageError('--expires must be a time such as 2027-01-31T12:00:00Z')
  if (time.getTime() <= Date.now()) throw new UsageError('--expires lies in the past')
  return time.toISOString()
}
