import { type DkimAlgorithm, dkimRecordValue } from '#lib/mail/dkim.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'

export const RECORD_KINDS = ['DKIM', 'SPF', 'DMARC', 'Receiving', 'Tracking'] as const
type RecordKind = (typeof RECORD_KINDS)[number]

/** A record that a domain is to have. `name` is whole, in lower case, without a dot at its end. */
export type DomainRecord = {
  record: RecordKind
  name: string
  type: 'TXT' | 'MX' | 'CNAME'
  value: string
  priority?: number
  /** sending: no mail is sent without it; feature: not verified without it; advice: anything may be there. */
  purpose: 'sending' | 'feature' | 'advice'
}

type Capabilities = { sending: 'enabled' | 'disabled'; receiving: 'enabled' | 'disabled' }

/** What of a domain decides on its records. */
export type RecordedDomain = {
  name: string
  capabilities: Capabilities
  open_tracking: boolean
  click_tracking: boolean
  tracking_subdomain: string | null
  custom_return_path: string
}

export type PublishedKey = {
  selector: string
  algorithm: DkimAlgorithm
  public_key: string
  state: 'staged' | 'active' | 'retired'
}

/** Below it links and pixels are, unless the domain says otherwise. */
export const TRACKING_SUBDOMAIN = 'track'

const PRIORITY = 10

/** The records of a domain (contract 5.1), for the server that its mail is sent from and received by. */
export function domainRecords(domain: RecordedDomain, keys: PublishedKey[], server_domain: string): DomainRecord[] {
  const { name, capabilities, open_tracking, click_tracking, tracking_subdomain } = domain
  return [
    ...(capabilities.sending === 'enabled' ? sendingRecords(domain, keys, server_domain) : []),
    ...(capabilities.receiving === 'enabled' ? [mx('Receiving', name, `inbound.${server_domain}`, 'feature')] : []),
    ...(open_tracking || click_tracking
      ? [cname(`${tracking_subdomain ?? TRACKING_SUBDOMAIN}.${name}`, `links.${server_domain}`)]
      : []),
  ]
}

function sendingRecords(domain: RecordedDomain, keys: PublishedKey[], server_domain: string): DomainRecord[] {
  const { name } = domain
  const return_path = `${domain.custom_return_path}.${name}`
  return [
    ...keys.map(key => dkim(name, key)),
    mx('SPF', return_path, `feedback.${server_domain}`, 'sending'),
    txt('SPF', return_path, `v=spf1 include:${server_domain} ~all`, 'sending'),
    txt('DMARC', `_dmarc.${name}`, 'v=DMARC1; p=none;', 'advice'),
  ]
}

/** Receivers may know nothing of Ed25519 (RFC 8463): its record helps, and nothing depends on it. */
function dkim(name: string, { selector, algorithm, public_key, state }: PublishedKey): DomainRecord {
  const purpose = state === 'active' && algorithm === 'rsa-sha256' ? 'sending' : 'advice'
  return txt('DKIM', `${selector}._domainkey.${name}`, dkimRecordValue(algorithm, public_key), purpose)
}

type Purpose = DomainRecord['purpose']

function txt(record: RecordKind, name: string, value: string, purpose: Purpose): DomainRecord {
  return { record, name, type: 'TXT', value, purpose }
}

function mx(record: RecordKind, name: string, value: string, purpose: Purpose): DomainRecord {
  return { record, name, type: 'MX', value, priority: PRIORITY, purpose }
}

function cname(name: string, value: string): DomainRecord {
  return { record: 'Tracking', name, type: 'CNAME', value, purpose: 'feature' }
}

/** As it is typed in where the zone is kept: without the registered domain; of that itself, whole. */
export function nameInZone(name: string): string {
  const zone = registrableDomain(name)
  return zone !== null && name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name
}
