import { parse } from 'tldts'

/** What names are told apart by: with the suffixes of those who give out names below their own, such as github.io. */
const OPTIONS = { allowPrivateDomains: true }

/** The domain that somebody registered: of `mail.acme.co.uk` it is `acme.co.uk`. Null: it is a public suffix itself. */
export function registrableDomain(name: string): string | null {
  return parse(name, OPTIONS).domain
}

/** Whether one is the other, or below it. */
export function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`)
}

/** Where the zone may be that a name is in: the name itself, then what it is below, up to its registered domain. */
export function listZones(name: string): string[] {
  const registered = registrableDomain(name) ?? name
  const labels = name.split('.')
  const above = labels.length - registered.split('.').length
  return labels.slice(0, above + 1).map((_, i) => labels.slice(i).join('.'))
}
