import { type DomainRecord, domainRecords, nameInZone } from '#lib/domains/domain_records.ts'
import type { ListedDomain } from '#sql/domains/columns.ts'
import { listDkimKeys } from '#sql/domains/dkim_keys.ts'
import { listRecordChecks, type RecordCheck } from '#sql/domains/domain_records.ts'
import { findDomain } from '#sql/domains/domains.ts'
import type { Queryable } from '#sql/pool.ts'

/** A record to publish (contract 5.1): `name` as it is typed in where the zone is kept. */
type PresentedRecord = {
  record: string
  name: string
  type: string
  value: string
  ttl: 'Auto'
  priority?: number
  status: 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'
  /** What to mend, of one that is not verified. */
  problem?: string
}

export type PresentedDomain = ListedDomain & { records: PresentedRecord[] }

/** A domain with its records and what DNS last said of each. */
export async function findDomainWithRecords(
  db: Queryable,
  account_id: string,
  id: string,
  server_domain: string,
): Promise<PresentedDomain | null> {
  const domain = await findDomain(db, account_id, id)
  if (!domain) return null
  const keys = await listDkimKeys(db, account_id, id)
  const checks = await listRecordChecks(db, account_id, id)
  const checkOf = new Map(checks.map(check => [`${check.type} ${check.name}`, check]))
  const records = domainRecords(domain, keys, server_domain).map(({ purpose, ...record }) => ({
    ...record,
    name: nameInZone(record.name),
    ttl: 'Auto' as const,
    ...shownCheck(checkOf.get(`${record.type} ${record.name}`)),
  }))
  const { verified_at, created_at, updated_at, ...head } = domain
  return { ...head, records, verified_at, created_at, updated_at }
}

export type DomainWithZone = { domain: ListedDomain; records: DomainRecord[] }

/** A domain with its records as they are to stand in DNS. */
export async function findZoneRecords(
  db: Queryable,
  account_id: string,
  id: string,
  server_domain: string,
): Promise<DomainWithZone | null> {
  const domain = await findDomain(db, account_id, id)
  if (!domain) return null
  return { domain, records: domainRecords(domain, await listDkimKeys(db, account_id, id), server_domain) }
}

function shownCheck(check: RecordCheck | undefined): Pick<PresentedRecord, 'status' | 'problem'> {
  if (!check) return { status: 'not_started' }
  return { status: check.status, ...(check.problem === null ? {} : { problem: check.problem }) }
}
