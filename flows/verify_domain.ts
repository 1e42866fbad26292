import { type Check, checkRecord } from '../lib/check_record.ts'
import type { Dns } from '../lib/dns.ts'
import { type DomainRecord, domainRecords } from '../lib/domain_records.ts'
import { listDkimKeys } from '../sql/dkim_keys.ts'
import { upsertRecordChecks } from '../sql/domain_records.ts'
import { findDomain, setDomainStatus } from '../sql/domains.ts'
import type { Pool } from '../sql/pool.ts'
import { settleDkimKeys } from './rotate_dkim_keys.ts'

type Dependencies = { pool: Pool; dns: Dns; server_domain: string }

/** Asks DNS for the records of a domain, and writes what that makes of it. */
export async function verifyDomain(deps: Dependencies, account_id: string, domain_id: string): Promise<void> {
  const { pool, dns, server_domain } = deps
  const domain = await findDomain(pool, account_id, domain_id)
  if (!domain) return // deleted
  const records = domainRecords(domain, await listDkimKeys(pool, account_id, domain_id), server_domain)
  const checks = await Promise.all(records.map(async record => ({ record, check: await checkRecord(dns, record) })))
  await pool.transaction(async tx => {
    await upsertRecordChecks(
      tx,
      { account_id, domain_id },
      checks.map(({ record: { name, type }, check }) => ({ name, type, ...check })),
    )
    await settleDkimKeys(tx, { account_id, domain_id }, checks)
    if (isSendable(checks)) await setDomainStatus(tx, account_id, domain_id, 'verified')
  })
}

function isSendable(checks: { record: DomainRecord; check: Check }[]): boolean {
  return checks.every(({ record, check }) => record.purpose !== 'sending' || check.status === 'verified')
}
