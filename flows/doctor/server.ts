import type { Config } from '#lib/config.ts'
import { type Finding, runChecks } from '#lib/doctor/finding.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import manifest from '#package.json' with { type: 'json' }
import { findAccount, type ListedAccount, listAccounts } from '#sql/accounts/accounts.ts'
import { listPlans, type Plan } from '#sql/accounts/plans.ts'
import { findDomainByName } from '#sql/domains/domains.ts'
import { type AppliedMigration, findNewestMigration } from '#sql/migrations.ts'
import type { Pool } from '#sql/pool.ts'
import { findQueue, type Queue } from '#sql/process/doctor.ts'
import { type Heartbeat, listHeartbeats } from '#sql/process/worker_heartbeats.ts'
import { listPaused, type Party, type PausedParty, pauseParty, resumeParty } from '#sql/safety/pauses.ts'
import { findPlatform, type Platform, pausePlatform, resumePlatform } from '#sql/safety/platform.ts'
import { checkClock } from './clock.ts'
import { checkPostgres } from './postgres.ts'
import { checkQueue } from './queue.ts'

const DEADLINE_MS = 5_000
const DEAD_SECONDS = 60
const MAX_ACCOUNTS = 500
const MAX_PAUSED = 100
const MAX_REASON = 500

/** The state of the whole installation, for its operators. */
export type Server = {
  version: string
  migration: AppliedMigration | null
  platform: Platform
  queue: Queue
  workers: Heartbeat[]
  paused: PausedParty[]
  accounts: ListedAccount[]
  plans: Plan[]
  findings: Finding[]
}

type Services = { pool: Pool; config: Config }

/** Makes those checks of the doctor that take little time and read only the database. */
export async function checkServer({ pool, config }: Services): Promise<Finding[]> {
  const checks = [
    { check: 'Postgres', run: () => checkPostgres(pool, config, true) },
    { check: 'clock', run: async () => checkClock(pool) },
    { check: 'queue', run: () => checkQueue(pool) },
  ]
  return runChecks(checks, DEADLINE_MS)
}

export async function readServer(services: Services): Promise<Server> {
  const { pool } = services
  return {
    version: manifest.version,
    migration: await findNewestMigration(pool),
    platform: await findPlatform(pool),
    queue: await findQueue(pool, DEAD_SECONDS),
    workers: await listHeartbeats(pool),
    paused: await listPaused(pool, MAX_PAUSED),
    accounts: await listAccounts(pool, MAX_ACCOUNTS),
    plans: await listPlans(pool),
    findings: await checkServer(services),
  }
}

/** Names an account or one of its domains; if both are empty, the whole installation. */
export type Switched = { account: string; domain: string; reason: string }

/** Stops sending. Nothing more is accepted or sent until it is resumed. @throws {ApiError} 404, 422 */
export async function pauseSending(pool: Pool, { reason, ...named }: Switched): Promise<void> {
  const text = reason.slice(0, MAX_REASON) || null
  const party = await partyOf(pool, named)
  if (party === null) await pausePlatform(pool, text)
  else await pauseParty(pool, party, { paused_by: 'operator', reason: text })
}

/** Resumes sending. @throws {ApiError} 404, 422 */
export async function resumeSending(pool: Pool, named: Omit<Switched, 'reason'>): Promise<void> {
  const party = await partyOf(pool, named)
  if (party === null) await resumePlatform(pool)
  else await pool.transaction(tx => resumeParty(tx, party))
}

async function partyOf(pool: Pool, { account, domain }: Omit<Switched, 'reason'>): Promise<Party | null> {
  if (account === '' && domain === '') return null
  if (account === '') throw new ApiError('validation_error', '`account` must name the account of the domain.')
  const { id } = orNotFound('Account', await findAccount(pool, account))
  if (domain === '') return { account_id: id, domain_id: null }
  return { account_id: id, domain_id: orNotFound('Domain', await findDomainByName(pool, id, domain)).id }
}
