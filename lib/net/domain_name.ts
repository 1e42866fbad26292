import { parse } from 'tldts'

/** Includes the private suffixes under which others register names, such as github.io. */
const OPTIONS = { allowPrivateDomains: true }

/** Returns the registered domain: `acme.co.uk` for `mail.acme.co.uk`. Null for a public suffix. */
export function registrableDomain(name: string): string | null {
  return parse(name, OPTIONS).domain
}

/** Tells whether a name is the domain or below it. */
export function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`)
}

/** Returns the names that may be the zone of a name: the name itself, then those above it, up to its registered domain. */
export function listZones(name: string): string[] {
  const registered = registrableDomain(name) ?? name
  const labels = name.split('.')
  const above = labels.length - registered.split('.').length
  return labels.slice(0, above + 1).map((_, i) => labels.slice(i).join('.'))
}
