import type { Pool } from '#sql/pool.ts'
import { listPaused, type Party, pauseParty, resumeParty } from '#sql/safety/pauses.ts'
import { findPlatform, pausePlatform, resumePlatform, setWarmUp } from '#sql/safety/platform.ts'
import {
  accountNamed,
  accountOf,
  type Command,
  domainNamed,
  optional,
  printable,
  takes,
  UsageError,
  type Values,
} from './values.ts'

const MAX_LISTED = 1_000

/** What stops sending, of everybody, of an account or of a domain, and lets it go on. */
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

  'account pause': takes(1, ['reason'], async ({ pool }, values, [name]) =>
    pause(pool, await account(pool, name), values),
  ),
  'account resume': takes(1, [], async ({ pool }, _values, [name]) => resume(pool, await account(pool, name))),
  'domain pause': takes(1, ['account', 'reason'], async ({ pool }, values, [name]) =>
    pause(pool, await domain(pool, name, values), values),
  ),
  'domain resume': takes(1, ['account'], async ({ pool }, values, [name]) =>
    resume(pool, await domain(pool, name, values)),
  ),
}

function since(time: Date, by: string, reason: string | null): string {
  return `since ${time.toISOString()} by ${by}${reason ? `: ${printable(reason)}` : ''}`
}

async function pause(pool: Pool, party: Party, values: Values): Promise<void> {
  await pauseParty(pool, party, { paused_by: 'operator', reason: optional(values, 'reason') ?? null })
  console.log('paused')
}

async function resume(pool: Pool, party: Party): Promise<void> {
  await pool.transaction(tx => resumeParty(tx, party))
  console.log('resumed')
}

async function account(pool: Pool, name: string | undefined): Promise<Party> {
  if (!name) throw new UsageError('Which account?')
  return { account_id: (await accountNamed(pool, name)).id, domain_id: null }
}

async function domain(pool: Pool, name: string | undefined, values: Values): Promise<Party> {
  if (!name) throw new UsageError('Which domain?')
  const { account_id, id } = await domainNamed(pool, await accountOf(pool, values), name)
  return { account_id, domain_id: id }
}
