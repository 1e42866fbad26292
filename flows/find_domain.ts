import { type DomainRecord, domainRecords, nameInZone } from '../lib/domain_records.ts'
import { listDkimKeys } from '../sql/dkim_keys.ts'
import { listRecordChecks } from '../sql/domain_records.ts'
import { findDomain, type ListedDomain } from '../sql/domains.ts'
import type { Queryable } from '../sql/pool.ts'

/** A record to publish (contract 5.1): `name` as it is typed in where the zone is kept. */
export type PresentedRecord = {
  record: string
  name: string
  type: string
  value: string
  ttl: 'Auto'
  priority?: number
  status: 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'
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
  const statusOf = new Map(checks.map(check => [`${check.type} ${check.name}`, check.status]))
  const records = domainRecords(domain, keys, server_domain).map(({ purpose, ...record }) => ({
    ...record,
    name: nameInZone(record.name),
    ttl: 'Auto' as const,
    status: statusOf.get(`${record.type} ${record.name}`) ?? ('not_started' as const),
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
