import { type DkimAlgorithm, dkimRecordValue } from '#lib/mail/dkim.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'

export const RECORD_KINDS = ['DKIM', 'SPF', 'DMARC', 'Receiving', 'Tracking'] as const
type RecordKind = (typeof RECORD_KINDS)[number]

/** A record that a domain should have. `name` is fully qualified, in lower case, without a trailing dot. */
export type DomainRecord = {
  record: RecordKind
  name: string
  type: 'TXT' | 'MX' | 'CNAME'
  value: string
  priority?: number
  /** sending: no mail is sent without it; feature: the domain is not fully verified without it; advice: optional. */
  purpose: 'sending' | 'feature' | 'advice'
}

type Capabilities = { sending: 'enabled' | 'disabled'; receiving: 'enabled' | 'disabled' }

/** The properties of a domain that determine its records. */
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

/** Subdomain of tracked links and pixels, unless the domain has its own. */
export const TRACKING_SUBDOMAIN = 'track'

const PRIORITY = 10

/** Returns the records of a domain for the server that sends and receives its mail. */
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

/** Receivers may not support Ed25519 (RFC 8463): its record helps, but nothing depends on it. */
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

/** Returns a name as users enter it at their DNS provider: relative to the registered domain, or that domain itself. */
export function nameInZone(name: string): string {
  const zone = registrableDomain(name)
  return zone !== null && name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name
}
