import { findZoneRecords } from '#flows/domains/find_domain.ts'
import { about, type Finding } from '#lib/doctor/finding.ts'
import { recordLine } from '#lib/doctor/record_line.ts'
import type { Site } from '#lib/doctor/site.ts'
import { checkRecord } from '#lib/domains/check_record.ts'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { isReservedDomain } from '#lib/mail/reserved_domains.ts'
import { listRecordChecks } from '#sql/domains/domain_records.ts'
import type { Pool } from '#sql/pool.ts'
import { type DomainOfAccount, listDomainsOfAccounts } from '#sql/process/doctor.ts'

const MAX_DOMAINS = 200

/** Domains whose records are looked up at the same time. */
const AT_ONCE = 20

/** After this time, the results of the last verification are reported instead of asking DNS. */
const ASKING_MS = 6_000

type Status = { status: string; problem: string | null }

/** Checks the records of the domains of all accounts as they are in DNS now. */
export async function checkDomains(pool: Pool, site: Site): Promise<Finding[]> {
  const domains = await listDomainsOfAccounts(pool, MAX_DOMAINS + 1)
  const until = performance.now() + ASKING_MS
  const findings: Finding[] = []
  const left = domains.slice(0, MAX_DOMAINS)
  const checkNext = async () => {
    for (let domain = left.shift(); domain; domain = left.shift()) {
      findings.push(...(await checkDomain(pool, site, domain, performance.now() < until)))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, checkNext))
  if (domains.length > MAX_DOMAINS) {
    findings.push(about('domains').unknown(`Only ${MAX_DOMAINS} domains were checked; there are more.`))
  }
  return findings
}

async function checkDomain(pool: Pool, site: Site, row: DomainOfAccount, isAsking: boolean): Promise<Finding[]> {
  const { account_id, id, name, status } = row
  const report = about(`domain ${name} of ${row.account}`)
  if (row.is_trusted && isNotPublic(name))
    return [report.ok('The operator added it as verified; its name cannot be in DNS.')]
  const zone = await findZoneRecords(pool, account_id, id, site.config.SERVER_DOMAIN)
  if (!zone) return [] // deleted meanwhile
  const { domain, records } = zone
  const stored = await listRecordChecks(pool, account_id, id)
  const statusOf = ({ type, name }: DomainRecord): Status =>
    stored.find(check => check.type === type && check.name === name) ?? { status: 'not_started', problem: null }
  const checked = await Promise.all(
    records.map(async record => ({ record, ...(isAsking ? await checkRecord(site.dns, record) : statusOf(record)) })),
  )
  const missing = checked.filter(found => found.status !== 'verified')
  const state = `It is ${row.is_trusted ? 'added as verified' : status}`
  if (missing.length === 0) return [report.ok(`${state}, and all ${records.length} records are in DNS.`)]
  return missing.map(({ record, ...found }) => {
    const problem = found.problem ?? `Its record is ${found.status}.`
    const finding = `${state}; ${record.record} record ${record.type} ${record.name}: ${problem}`
    return findingFor(record, found.status)(finding, recordLine(record))
  })

  /** Returns how to report a record. A missing one is a problem only if the domain is in use, not while it is set up. */
  function findingFor({ purpose }: DomainRecord, found: string) {
    if (found === 'temporary_failure') return report.unknown
    const isInUse = !row.is_trusted && domain.verified_at !== null
    return isInUse && purpose !== 'advice' ? report.problem : report.warning
  }
}

/** Returns true for a name that cannot exist in public DNS, such as that of the sandbox. */
function isNotPublic(name: string): boolean {
  return /\.(?:internal|local)$/.test(name) || isReservedDomain(name)
}
