import { isDeepStrictEqual } from 'node:util'
import { now } from '#lib/clock.ts'
import { type CheckedRecord, checkRecords, recordStatesOf } from '#lib/domains/check_records.ts'
import { type DomainRecord, domainRecords } from '#lib/domains/domain_records.ts'
import { type DomainState, isChecked, isSendable, nextDomainState } from '#lib/domains/domain_status.ts'
import type { Log } from '#lib/log.ts'
import type { Dns } from '#lib/net/dns.ts'
import { listDkimKeys } from '#sql/domains/dkim_keys.ts'
import { findConflict, lockNames } from '#sql/domains/domain_conflicts.ts'
import {
  deleteStaleChecks,
  listRecordChecks,
  type RecordCheck,
  upsertRecordChecks,
} from '#sql/domains/domain_records.ts'
import {
  type DomainToVerify,
  findDomainToVerify,
  lockDomainToVerify,
  updateDomainState,
} from '#sql/domains/domain_verification.ts'
import type { Pool, Queryable, Tx } from '#sql/pool.ts'
import { queueVerification } from './add_check_jobs.ts'
import { announceDomains } from './announce_domains.ts'
import { settleDkimKeys } from './rotate_dkim_keys.ts'

type Dependencies = { pool: Pool; dns: Dns; log: Log; server_domain: string }

/** Checks the records of a domain in DNS, and stores the result and the new status. */
export async function verifyDomain(deps: Dependencies, account_id: string, domain_id: string): Promise<void> {
  const { pool, dns, log, server_domain } = deps
  const domain = await findDomainToVerify(pool, account_id, domain_id)
  if (!domain || !isToVerify(domain)) return // deleted, or settled meanwhile
  const wanted = await listWanted(pool, domain, server_domain)
  const checked = await checkRecords(dns, wanted)
  const change = await pool.transaction(async tx => {
    await lockNames(tx, domain.name)
    const locked = await lockDomainToVerify(tx, account_id, domain_id)
    if (!locked || !isToVerify(locked)) return null
    if (isDeepStrictEqual(await listWanted(tx, locked, server_domain), wanted))
      return settle(tx, locked, checked, server_domain)
    // The records to publish have changed during the check, so it is repeated.
    await queueVerification(tx, [locked])
    return null
  })
  if (change && change.from !== change.to)
    log.info({ account_id, domain_id, ...change }, 'the status of a domain has changed')
}

/**
 * Returns false for trusted domains, for which the operator vouches, and for failed ones, which wait for a request to
 * verify them.
 */
function isToVerify({ is_trusted, status }: DomainToVerify): boolean {
  return !is_trusted && isChecked(status)
}

async function listWanted(db: Queryable, domain: DomainToVerify, server_domain: string): Promise<DomainRecord[]> {
  return domainRecords(domain, await listDkimKeys(db, domain.account_id, domain.id), server_domain)
}

type Change = { name: string; from: string; to: string; problems: string[] }

async function settle(
  tx: Tx,
  domain: DomainToVerify,
  checked: CheckedRecord[],
  server_domain: string,
): Promise<Change> {
  const { account_id, id: domain_id, name } = domain
  const next = nextDomainState(domain, recordStatesOf(checked), now(), Math.random() * 2 - 1)
  const isNew = isSendable(next.status) && !isSendable(domain.status)
  const isTaken = isNew && (await findConflict(tx, account_id, name)) !== null
  const state = isTaken ? { ...next, ...LOST } : next
  const checks = await recordChecks(tx, domain, checked, isTaken)
  await upsertRecordChecks(tx, { account_id, domain_id }, checks)
  await deleteStaleChecks(tx, { account_id, domain_id }, checks)
  const isRotated = await settleDkimKeys(tx, { account_id, domain_id }, checked)
  await updateDomainState(tx, domain, state)
  if (isRotated || state.status !== domain.status) await announceDomains(tx, 'domain.updated', [domain], server_domain)
  const problems = checks.flatMap(({ type, name, problem }) => (problem === null ? [] : `${type} ${name}: ${problem}`))
  return { name, from: domain.status, to: state.status, problems }
}

/**
 * State of a domain whose name another account has verified: with the same name, or one above the other, each would
 * receive and sign mail of the other.
 */
const LOST: DomainState & { check_at: null } = {
  status: 'failed',
  window_since: null,
  check_at: null,
  verified_at: null,
  return_path_verified: false,
}

/**
 * Returns the result of each record. While the domain is being verified, a record that was never found is `pending`.
 */
async function recordChecks(
  tx: Tx,
  { account_id, id, name, status }: DomainToVerify,
  checked: CheckedRecord[],
  isTaken: boolean,
): Promise<RecordCheck[]> {
  const before = new Map((await listRecordChecks(tx, account_id, id)).map(check => [keyOf(check), check.status]))
  return checked.map(({ record, check }) => {
    const { type, name: record_name, purpose } = record
    const head = { name: record_name, type }
    if (isTaken && purpose !== 'advice') return { ...head, status: 'failed', problem: takenProblem(name) }
    if (check.status !== 'missing') return { ...head, status: check.status, problem: check.problem }
    const isAwaited = status === 'pending' && (before.get(keyOf(head)) ?? 'pending') === 'pending'
    return { ...head, status: isAwaited ? 'pending' : 'failed', problem: check.problem }
  })
}

function keyOf({ type, name }: Pick<RecordCheck, 'name' | 'type'>): string {
  return `${type} ${name}`
}

function takenProblem(name: string): string {
  return `The domain ${name}, or one above or below it, is verified by another account: prove that it is yours with POST /domains/claim.`
}
