import { reverseName } from '#lib/net/reverse_name.ts'
import { about, type Finding } from './finding.ts'
import { recordLine } from './record_line.ts'
import { addressType, fault, type Site } from './site.ts'

const HELO = about('HELO_NAME')
const PTR = about('PTR')

/** A domain name with a public suffix, which others can look up (RFC 5321 section 2.3.5). */
const wholeName =
  /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+(?!local$|localdomain$|internal$|test$|invalid$)[a-z][a-z0-9-]*$/i

/** Checks that the name of this host and its addresses lead to each other: many receivers refuse hosts for which they do not. */
export async function checkHeloName(site: Site): Promise<Finding[]> {
  const { HELO_NAME } = site.config
  if (!wholeName.test(HELO_NAME)) {
    const fix =
      'HELO_NAME=the full name of this host, such as mail.acme.com; the PTR record of its address must have this name'
    return [fault(site, HELO)(`${HELO_NAME} is not a name that receivers can look up.`, fix)]
  }
  const pointers = site.addresses.map(address => checkPointer(site, address))
  return [await checkName(site), ...(await Promise.all(pointers))]
}

async function checkName(site: Site): Promise<Finding> {
  const { HELO_NAME: name } = site.config
  const { addresses } = site
  const answer = await site.dns.addresses(name)
  if (answer.outcome === 'failed')
    return HELO.unknown(`The addresses of ${name} could not be looked up (${answer.reason}).`)
  const records = addresses.map(value => recordLine({ name, type: addressType(value), value }))
  const fix = records.join('\n') || `${name}. IN A the public address of this host`
  if (answer.outcome === 'none') return fault(site, HELO)(`${name} has no address.`, fix)
  const found = answer.records.join(', ')
  if (addresses.length === 0)
    return HELO.unknown(`${name} leads to ${found}; which public address is this host’s? (--address)`)
  const missing = addresses.filter(address => !answer.records.includes(address))
  if (missing.length === addresses.length) {
    return fault(site, HELO)(`${name} leads to ${found}, this host is at ${addresses.join(', ')}.`, fix)
  }
  return HELO.ok(`${name} leads to this host (${addresses.filter(address => !missing.includes(address)).join(', ')}).`)
}

/** Checks the reverse name: receivers look up the name of an address, and then whether that name has the address. */
async function checkPointer(site: Site, address: string): Promise<Finding> {
  const { HELO_NAME: name } = site.config
  const fix = `${recordLine({ name: reverseName(address), type: 'PTR', value: name })}   (at the provider of the address)`
  const answer = await site.dns.names(address)
  if (answer.outcome === 'failed')
    return PTR.unknown(`The name of ${address} could not be looked up (${answer.reason}).`)
  if (answer.outcome === 'none') return fault(site, PTR)(`${address} has no name.`, fix)
  const found = answer.records.join(', ')
  if (!answer.records.includes(name.toLowerCase())) {
    return fault(site, PTR)(
      `${address} is named ${found}, and HELO_NAME is ${name}.`,
      `HELO_NAME=${answer.records[0]}\nor ${fix}`,
    )
  }
  const back = await site.dns.addresses(name)
  if (back.outcome === 'failed') return PTR.unknown(`The addresses of ${name} could not be looked up (${back.reason}).`)
  if (back.outcome === 'none' || !back.records.includes(address)) {
    const record = recordLine({ name, type: addressType(address), value: address })
    return fault(site, PTR)(`${address} is named ${name}, which does not lead back to it.`, record)
  }
  return PTR.ok(`${address} is named ${name}, which leads back to it.`)
}
