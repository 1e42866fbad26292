import { isSpfPolicy } from '#lib/domains/check_policy_record.ts'
import { about, type Finding } from './finding.ts'
import { recordLine } from './record_line.ts'
import { addressType, fault, isDirect, type Site } from './site.ts'
import { evaluateSpf } from './spf.ts'

const SPF = about('SPF')

/** The hosts that senders' DNS records point to (lib/domains/domain_records.ts), and the consequence if one is missing. */
const NAMES = {
  feedback: 'bounces of domains with a custom return path are lost',
  inbound: 'mail to domains with receiving enabled does not arrive',
  links: 'tracked links do not work',
}

/** Checks the records of SERVER_DOMAIN, which those of all domains refer to. */
export async function checkServerDomain(site: Site): Promise<Finding[]> {
  const { SERVER_DOMAIN } = site.config
  if (!SERVER_DOMAIN.includes('.')) {
    const fix = 'SERVER_DOMAIN=one of your domains, such as mail.acme.com'
    return [fault(site, about('SERVER_DOMAIN'))(`${SERVER_DOMAIN} is not a domain that DNS records can point to.`, fix)]
  }
  const names = Object.entries(NAMES).map(([label, harm]) => checkLeads(site, `${label}.${SERVER_DOMAIN}`, harm))
  const addresses = isDirect(site) ? site.addresses : []
  const spf = addresses.length > 0 ? addresses.map(address => checkSpf(site, address)) : [checkSomeSpf(site)]
  return Promise.all([...spf, ...names])
}

async function checkLeads(site: Site, name: string, harm: string): Promise<Finding> {
  const report = about(name)
  const answer = await site.dns.addresses(name)
  if (answer.outcome === 'failed') return report.unknown(`It could not be looked up (${answer.reason}).`)
  if (answer.outcome === 'found') return report.ok(`It leads to ${answer.records.join(', ')}.`)
  const records = site.addresses.map(value => recordLine({ name, type: addressType(value), value })).join('\n')
  return report.warning(`It has no address: ${harm}.`, records || `${name}. IN A the public address of this host`)
}

/** Checks the SPF record, which those of all domains include, so it must allow the address that mail is sent from. */
async function checkSpf(site: Site, address: string): Promise<Finding> {
  const { SERVER_DOMAIN: name } = site.config
  const { result, comment, record } = await evaluateSpf(site.dns, name, address)
  if (result === 'pass') return SPF.ok(`${name} allows ${address}.`)
  if (result === 'temperror') return SPF.unknown(`${name} could not be looked up (${comment}).`)
  const value = allowing(record, site.addresses)
  const said = record
    ? `${name} has the result ${result} for ${address}: ${record}`
    : `${name} has no SPF record${comment ? ` (${comment})` : ''}.`
  return SPF.problem(said, recordLine({ name, type: 'TXT', value }))
}

/** Checks only that there is an SPF record: a relay sends mail from addresses that are not known here. */
async function checkSomeSpf(site: Site): Promise<Finding> {
  const { SERVER_DOMAIN: name } = site.config
  const answer = await site.dns.txt(name)
  if (answer.outcome === 'failed') return SPF.unknown(`${name} could not be looked up (${answer.reason}).`)
  const texts = answer.outcome === 'found' ? answer.records : []
  const policies = texts.filter(isSpfPolicy)
  const [policy] = policies
  const value = isDirect(site)
    ? 'v=spf1 ip4:the-public-address-of-this-host ~all'
    : 'v=spf1 include:the-spf-domain-of-your-relay ~all'
  const fix = recordLine({ name, type: 'TXT', value })
  if (!policy) return SPF.warning(`${name} has no SPF record, but the SPF records of all domains include it.`, fix)
  if (policies.length > 1) return SPF.warning(`${name} has ${policies.length} SPF records, which counts as none.`, fix)
  return SPF.ok(`${name} has ${policy}`)
}

/** Returns the record with these addresses allowed before its other terms. */
function allowing(record: string | null, addresses: string[]): string {
  const mechanisms = addresses.map(address => `${addressType(address) === 'A' ? 'ip4' : 'ip6'}:${address}`)
  const [, ...terms] = record?.split(/\s+/) ?? ['v=spf1', '~all']
  return ['v=spf1', ...mechanisms.filter(mechanism => !terms.includes(mechanism)), ...terms].join(' ')
}
