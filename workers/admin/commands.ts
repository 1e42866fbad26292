import { validate as isUuid } from 'uuid'
import { z } from 'zod'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { createDomain } from '#flows/domains/create_domain.ts'
import { addTokenKey } from '#flows/process/token_keys.ts'
import { hashApiKey, isWellFormedApiKey } from '#lib/api_key.ts'
import { now } from '#lib/clock.ts'
import { revokeApiKey } from '#sql/accounts/api_keys.ts'
import { findCapturedMessage, listCapturedMessages } from '#sql/delivery/captured_messages.ts'
import { accountCommands } from './accounts.ts'
import { campaignCommands } from './campaigns.ts'
import { adviseKeys, domainKeyCommands } from './domain_keys.ts'
import { domainCommands } from './domains.ts'
import { memberCommands } from './members.ts'
import { reportCommands } from './reports.ts'
import { switchCommands } from './switches.ts'
import {
  accountOf,
  type Command,
  changes,
  domainNamed,
  listLimit,
  newName,
  optional,
  printable,
  required,
  takes,
  UsageError,
  type Values,
} from './values.ts'

export const USAGE = `
npm run admin -- account create --name NAME [--plan PLAN]
                 account update ACCOUNT [--plan PLAN] [--add-credits N] [--postal-address TEXT]
                                [--brand-name TEXT] [--brand-color COLOR] [--brand-logo-url URL]
                 account pause ACCOUNT [--reason TEXT]
                 account resume ACCOUNT
                 plan set NAME [--per-day N] [--per-month N] [--domains N] [--ai-credits N] [--automation-runs N]
                 plan list
                 key create --account ACCOUNT --name NAME [--sending-only] [--domain DOMAIN] [--default-domain DOMAIN] [--expires ISO]
                 key revoke KEY_OR_ID
                 member invite EMAIL --account ACCOUNT [--role ROLE]
                 member reset EMAIL
                 member operator EMAIL yes|no
                 member list
                 token-key add
                 domain add NAME --account ACCOUNT [--verified]
                 domain rotate NAME --account ACCOUNT [--now]
                 domain transport NAME KIND --account ACCOUNT
                 domain pause NAME --account ACCOUNT [--reason TEXT]
                 domain resume NAME --account ACCOUNT
                 campaign in-doubt ID ACTION
                 sending pause [--reason TEXT]
                 sending resume
                 sending status
                 sending warm-up N
                 captured list [--limit N]
                 captured show ID
                 report list [--limit N]
                 report show ID
An ACCOUNT is given by its name or its id; a KIND is capture, relay, direct or default; an ACTION is retry, release or drop; a ROLE is owner, admin or view_only.`

/** Each command prints only its result to stdout, so that scripts can use it. Advice goes to stderr. */
export const commands: Record<string, Command> = {
  ...accountCommands,
  ...domainKeyCommands,
  ...domainCommands,
  ...switchCommands,
  ...campaignCommands,
  ...memberCommands,
  ...reportCommands,

  'key create': changes(
    0,
    ['account', 'name', 'sending-only', 'domain', 'default-domain', 'expires'],
    async ({ pool, secrets }, values) => {
      const name = newName(required(values, 'name'), '--name')
      const account = await accountOf(pool, values)
      const domain = optional(values, 'domain')
      const by_default = optional(values, 'default-domain')
      // A key that sends from one domain but reads everything would look more harmless than it is.
      if (domain && !values['sending-only']) throw new UsageError('--domain limits a key that is --sending-only')
      const key = await createApiKey(pool, secrets, {
        account_id: account.id,
        name,
        permission: values['sending-only'] ? 'sending_access' : 'full_access',
        domain_id: domain ? (await domainNamed(pool, account, domain)).id : null,
        default_domain_id: by_default ? (await domainNamed(pool, account, by_default)).id : null,
        expires_at: expiry(values),
      })
      console.log(key)
      return { account_id: account.id, target: name }
    },
  ),

  'key revoke': changes(1, [], async ({ pool, secrets }, _values, [key]) => {
    if (!key) throw new UsageError('Which key?')
    const hash = isWellFormedApiKey(key) ? hashApiKey(key, secrets.pepper) : null
    if (!hash && !isUuid(key)) throw new UsageError('Give the whole key (mb_...) or its id.')
    const revoked = await revokeApiKey(pool, hash ? null : key, hash)
    if (!revoked) throw new UsageError('There is no such key, or it is already revoked.')
    console.log('revoked')
    return { account_id: revoked.account_id, target: revoked.id }
  }),

  'token-key add': takes(0, [], async foundation => {
    console.log(await addTokenKey(foundation))
    console.error('It signs new links 10 minutes from now. Links that were sent stay valid.')
  }),

  'domain add': changes(1, ['account', 'verified'], async (foundation, values, [name]) => {
    if (!name) throw new UsageError('Which domain?')
    const account = await accountOf(foundation.pool, values)
    const is_trusted = Boolean(values.verified)
    const domain = await createDomain(foundation, { account_id: account.id, name, is_trusted })
    console.log(domain.id)
    adviseKeys(domain.name, domain.dkim_keys)
    return { account_id: account.id, target: domain.name }
  }),

  'captured list': takes(0, ['limit'], async ({ pool }, values) => {
    for (const message of await listCapturedMessages(pool, listLimit(values))) {
      const { id, created_at, recipient, subject, size } = message
      console.log([id, created_at.toISOString(), recipient, `${size} bytes`, printable(subject)].join('  '))
    }
  }),

  'captured show': takes(1, [], async ({ pool }, _values, [id]) => {
    if (!id || !isUuid(id)) throw new UsageError('Which message? Its id is in: captured list')
    const found = await findCapturedMessage(pool, id)
    if (!found) throw new UsageError(`There is no captured message ${id}.`)
    process.stdout.write(found.message)
  }),
}

/** Requires an offset, since a time without one would be in the server's own zone. */
const Time = z.union([z.iso.datetime({ offset: true }), z.iso.date()])

function expiry(values: Values): string | null {
  const text = optional(values, 'expires')
  if (text === undefined) return null
  if (!Time.safeParse(text).success) throw new UsageError('--expires must be a time such as 2027-01-31T12:00:00Z')
  const time = new Date(text)
  if (time <= now()) throw new UsageError('--expires is in the past')
  return time.toISOString()
}
