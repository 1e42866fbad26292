import { z } from 'zod'
import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import type { ProviderClient } from './ask.ts'
import { type Host, readHosts, readSaved } from './namecheap_xml.ts'
import type { ZoneRecord } from './plan.ts'
import { hostIn, nameIn, type ProviderZone, plainName } from './zone.ts'

const User = z.string().regex(/^[\x21-\x7e]{1,100}$/, 'must be a Namecheap user name')
const Key = z.string().regex(/^[\x21-\x7e]{8,1000}$/, 'must be a Namecheap API key')

/** `user_name`: the owner of the domain, if it is not the caller. */
export const NamecheapCredentials = withTwins(
  z.object({
    api_key: Key.describe('API key.'),
    api_user: User.describe('User that the key belongs to.'),
    user_name: User.nullish().describe('User that the domain belongs to. Default: `api_user`.'),
  }),
).meta({ id: 'NamecheapCredentials' })
export type NamecheapCredentials = z.infer<typeof NamecheapCredentials>

/** In seconds. */
const TTL = '1800'

/** Namecheap's mail settings of a domain. MX records exist and count with the first one only. */
const OWN_MX = 'MX'
const NO_MAIL = ['MX', 'NONE', '']

/**
 * Opens the zone of the registered domain, which can only be read and written as a whole
 * (https://www.namecheap.com/support/api/methods/domains-dns/). `client_ip`: our address as Namecheap sees it. @throws
 * {ProviderError}
 */
export async function openNamecheap(
  ask: ProviderClient,
  credentials: NamecheapCredentials,
  domain: string,
  client_ip: string,
): Promise<ProviderZone> {
  const zone = registrableDomain(domain) ?? domain
  const call = async (command: string, fields: Record<string, string>) => {
    const body = new URLSearchParams({ ...common(credentials, zone, client_ip), Command: command, ...fields })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return ask('', { method: 'POST', headers, body: body.toString() })
  }
  const { email_type, hosts } = readHosts(await call('namecheap.domains.dns.getHosts', {}), zone)
  const records = new Map(hosts.map(host => [zoneRecord(zone, host), host]))
  let has_mx = email_type === OWN_MX

  return {
    list: async ({ name }) => [...records.keys()].filter(record => record.name === name),
    whyNot: ({ type }) =>
      type === 'MX' && !NO_MAIL.includes(email_type)
        ? `Its mail settings at Namecheap are ${email_type}, without MX records of its own: choose Custom MX there first.`
        : null,
    add: async wanted => {
      const host = newHost(zone, wanted)
      records.set(zoneRecord(zone, host), host)
      has_mx ||= wanted.type === 'MX'
    },
    replace: async (found, value) => {
      const host = records.get(found) as Host
      records.delete(found)
      records.set({ ...found, value }, { ...host, Address: value })
    },
    save: async () => {
      const type = has_mx ? OWN_MX : email_type
      readSaved(await call('namecheap.domains.dns.setHosts', { ...fieldsOf([...records.values()]), ...mailOf(type) }))
    },
  }
}

function common({ api_key, api_user, user_name }: NamecheapCredentials, zone: string, client_ip: string) {
  const [SLD = '', ...labels] = zone.split('.')
  const who = { ApiUser: api_user, ApiKey: api_key, UserName: user_name ?? api_user, ClientIp: client_ip }
  return { ...who, SLD, TLD: labels.join('.') }
}

/** Without this field Namecheap would turn off the domain's mail. */
function mailOf(type: string): Record<string, string> {
  return type === '' ? {} : { EmailType: type }
}

function fieldsOf(hosts: Host[]): Record<string, string> {
  const fields = hosts.flatMap(({ Name, Type, Address, MXPref, TTL }, i) => [
    [`HostName${i + 1}`, Name],
    [`RecordType${i + 1}`, Type],
    [`Address${i + 1}`, Address],
    [`MXPref${i + 1}`, MXPref],
    [`TTL${i + 1}`, TTL],
  ])
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function zoneRecord(zone: string, { Name, Type, Address }: Host): ZoneRecord {
  return { type: Type, name: nameIn(zone, Name), value: Type === 'TXT' ? Address : plainName(Address) }
}

function newHost(zone: string, { type, name, value, priority }: DomainRecord): Host {
  const Address = type === 'TXT' ? value : `${value}.`
  return { Name: hostIn(zone, name), Type: type, Address, MXPref: String(priority ?? 10), TTL }
}
