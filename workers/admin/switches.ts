import type { Pool } from '#sql/pool.ts'
import { listPaused, type Party, pauseParty, resumeParty } from '#sql/safety/pauses.ts'
import { findPlatform, pausePlatform, resumePlatform, setWarmUp } from '#sql/safety/platform.ts'
import {
  accountNamed,
  accountOf,
  type Changed,
  type Command,
  changes,
  domainNamed,
  optional,
  printable,
  takes,
  UsageError,
  type Values,
} from './values.ts'

const MAX_LISTED = 1_000

/** Commands that pause and resume sending: of everybody, of an account or of a domain. */
export const switchCommands: Record<string, Command> = {
  'sending pause': takes(0, ['reason'], async ({ pool }, values) => {
    await pausePlatform(pool, optional(values, 'reason') ?? null)
    console.log('paused')
  }),

  'sending resume': takes(0, [], async ({ pool }) => {
    await resumePlatform(pool)
    console.log('resumed')
  }),

  'sending status': takes(0, [], async ({ pool }) => {
    const { paused_at, pause_reason, warm_up_per_day, transport_fault, is_transport_unusable } =
      await findPlatform(pool)
    console.log(paused_at ? `sending: paused ${since(paused_at, 'operator', pause_reason)}` : 'sending: on')
    console.log(`transport: ${is_transport_unusable ? transport_fault : 'no fault is known'}`)
    console.log(`warm-up: ${warm_up_per_day === 0 ? 'off' : `${warm_up_per_day} on the first day`}`)
    for (const { account, domain, paused_at, paused_by, pause_reason } of await listPaused(pool, MAX_LISTED)) {
      const party = domain ? `domain ${domain} of ${account}` : `account ${account}`
      console.log(`${party}: paused ${since(paused_at, paused_by, pause_reason)}`)
    }
  }),

  'sending warm-up': takes(1, [], async ({ pool }, _values, [per_day = '']) => {
    if (!/^\d{1,9}$/.test(per_day)) throw new UsageError('How many on the first day? 0 turns it off.')
    await setWarmUp(pool, Number(per_day))
    console.log(per_day === '0' ? 'off' : `${Number(per_day)} on the first day`)
  }),

  'account pause': changes(1, ['reason'], async ({ pool }, values, [name]) =>
    pause(pool, await account(pool, name), values),
  ),
  'account resume': changes(1, [], async ({ pool }, _values, [name]) => resume(pool, await account(pool, name))),
  'domain pause': changes(1, ['account', 'reason'], async ({ pool }, values, [name]) =>
    pause(pool, await domain(pool, name, values), values),
  ),
  'domain resume': changes(1, ['account'], async ({ pool }, values, [name]) =>
    resume(pool, await domain(pool, name, values)),
  ),
}

function since(time: Date, by: string, reason: string | null): string {
  return `since ${time.toISOString()} by ${by}${reason ? `: ${printable(reason)}` : ''}`
}

type NamedParty = Party & { name: string }

async function pause(pool: Pool, { name, ...party }: NamedParty, values: Values): Promise<Changed> {
  await pauseParty(pool, party, { paused_by: 'operator', reason: optional(values, 'reason') ?? null })
  console.log('paused')
  return { account_id: party.account_id, target: name }
}

async function resume(pool: Pool, { name, ...party }: NamedParty): Promise<Changed> {
  await pool.transaction(tx => resumeParty(tx, party))
  console.log('resumed')
  return { account_id: party.account_id, target: name }
}

async function account(pool: Pool, given: string | undefined): Promise<NamedParty> {
  if (!given) throw new UsageError('Which account?')
  const { id, name } = await accountNamed(pool, given)
  return { account_id: id, domain_id: null, name }
}

async function domain(pool: Pool, given: string | undefined, values: Values): Promise<NamedParty> {
  if (!given) throw new UsageError('Which domain?')
  const { account_id, id, name } = await domainNamed(pool, await accountOf(pool, values), given)
  return { account_id, domain_id: id, name }
}
