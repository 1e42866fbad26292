import { z } from 'zod'
import { type DomainRecord, domainRecords, nameInZone, RECORD_KINDS } from '#lib/domains/domain_records.ts'
import { ListedDomain } from '#sql/domains/columns.ts'
import { listDkimKeys } from '#sql/domains/dkim_keys.ts'
import { listRecordChecks, RecordCheck } from '#sql/domains/domain_records.ts'
import { findDomain } from '#sql/domains/domains.ts'
import type { Queryable } from '#sql/pool.ts'

/** A record to publish. `name`: relative to the zone, as providers expect it. */
const PresentedRecord = z
  .object({
    record: z.enum(RECORD_KINDS).describe('Purpose of the record.'),
    name: z.string().describe('Name within the zone.'),
    type: RecordCheck.shape.type.describe('Type in DNS.'),
    value: z.string().describe('Text or host name.'),
    ttl: z.literal('Auto').describe('Any value.'),
    priority: z.int().optional().describe('Priority of an MX record.'),
    status: z
      .enum(['not_started', ...RecordCheck.shape.status.options])
      .describe('Result of the last check of DNS. `temporary_failure`: name servers did not respond.'),
    problem: z.string().optional().describe('The mistake in a record that is not verified.'),
  })
  .meta({ id: 'DomainRecord' })
type PresentedRecord = z.infer<typeof PresentedRecord>

/** A domain as GET /domains/:id shows it. */
export const PresentedDomain = ListedDomain.extend({
  records: z.array(PresentedRecord).describe('DNS records to publish.'),
}).meta({ id: 'Domain' })
export type PresentedDomain = z.infer<typeof PresentedDomain>

/** Returns a domain with its records and the result of the last check of each. */
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

/** Returns a domain with its records as they must be in DNS. */
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
