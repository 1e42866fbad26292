import type { Answer, Dns, Mx } from '#lib/net/dns.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import { findDkimFault } from './check_dkim_record.ts'
import { findDmarcFault, findSpfFault } from './check_policy_record.ts'
import type { DomainRecord } from './domain_records.ts'

/**
 * The result for a record that should exist: it exists, there is none, there is a different one, or DNS did not respond.
 * `problem` tells the user what to fix.
 */
export type Check = { status: 'verified' | 'missing' | 'failed' | 'temporary_failure'; problem: string | null }

/** Checks one record in DNS. Takes no longer than a single query. */
export async function checkRecord(dns: Dns, record: DomainRecord): Promise<Check> {
  if (record.record === 'DMARC') return checkDmarc(dns, record)
  switch (record.type) {
    case 'TXT':
      return judge(await dns.txt(record.name), texts => whyNotText(record, texts))
    case 'MX':
      return judge(await dns.mx(record.name), found => whyNotMx(record.value, found))
    case 'CNAME':
      return checkCname(dns, record)
  }
}

function judge<Value>(answer: Answer<Value>, whyNot: (records: Value[]) => string | null): Check {
  if (answer.outcome === 'failed') {
    return { status: 'temporary_failure', problem: `Its name servers could not be queried (${answer.reason}).` }
  }
  if (answer.outcome === 'none') return { status: 'missing', problem: 'There is no such record.' }
  const problem = whyNot(answer.records)
  return { status: problem === null ? 'verified' : 'failed', problem }
}

function whyNotText({ record, value }: DomainRecord, texts: string[]): string | null {
  return record === 'DKIM' ? findDkimFault(value, texts) : findSpfFault(value, texts)
}

/** Mail goes to the lowest number first: other hosts may come after ours, but not before it or with the same number. */
function whyNotMx(value: string, found: Mx[]): string | null {
  const best = Math.min(...found.map(mx => mx.priority))
  const others = found.filter(mx => mx.exchange !== value)
  const ours = found.find(mx => mx.exchange === value)
  if (!ours) return others.some(mx => mx.exchange === '') ? NULL_MX : whyElsewhere(value, namesOf(others))
  const before = others.filter(mx => mx.priority <= ours.priority)
  if (before.length === 0) return null
  const which = ours.priority === best ? 'as low a number as' : 'a lower number than'
  return `It leads to ${namesOf(before)} with ${which} ${value}, which must have the lowest.`
}

const NULL_MX = 'It says that no mail is taken here at all (a null MX).'

function namesOf(found: Mx[]): string {
  return listed(found.map(mx => mx.exchange || '.'))
}

/** Some DNS providers replace a CNAME with addresses, which become outdated when ours change. */
async function checkCname(dns: Dns, { name, value }: DomainRecord): Promise<Check> {
  const [answer, addresses] = await Promise.all([dns.cname(name), dns.addresses(name)])
  if (answer.outcome === 'none' && addresses.outcome === 'found') {
    const problem = `It has the addresses ${listed(addresses.records)} in place of a CNAME: turn off its proxy or flattening.`
    return { status: 'failed', problem }
  }
  return judge(answer, found => (found.includes(value) ? null : whyElsewhere(value, listed(found))))
}

function whyElsewhere(value: string, found: string): string {
  const hint = found.startsWith(`${value}.`) ? ` Write ${value}. with a dot at its end.` : ''
  return `It leads to ${found}, not to ${value}.${hint}`
}

/** Checks the policy of the name itself, or else of its registered domain (RFC 7489 section 6.6.3). */
async function checkDmarc(dns: Dns, { name }: DomainRecord): Promise<Check> {
  const domain = registrableDomain(name)
  const names = [...new Set([name, ...(domain === null ? [] : [`_dmarc.${domain}`])])]
  const answers = await Promise.all(names.map(async name => policiesOnly(await dns.txt(name))))
  const first = answers.find(answer => answer.outcome !== 'none')
  return judge(first ?? { outcome: 'none', exists: false }, findDmarcFault)
}

/** Leaves out TXT records that are not DMARC policies. */
function policiesOnly(answer: Answer<string>): Answer<string> {
  if (answer.outcome !== 'found') return answer
  const records = answer.records.filter(text => /^\s*"?v\s*=\s*DMARC/i.test(text))
  return records.length > 0 ? { outcome: 'found', records } : { outcome: 'none', exists: true }
}

const MAX_LISTED = 5

/** Lists names from DNS so that they are safe to show and store. */
function listed(found: string[]): string {
  const names = found.slice(0, MAX_LISTED).map(name => name.replace(/[^\x21-\x7e]/g, '?').slice(0, 255))
  return names.join(', ') + (found.length > MAX_LISTED ? ' and others' : '')
}
