import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import { registrableDomain } from '#lib/net/domain_name.ts'
import type { Zone } from './name_server.ts'

/** Publishes the records that a domain requires, like its owner. */
export function publish(zone: Zone, { name: domain, records }: Pick<PresentedDomain, 'name' | 'records'>): void {
  const registered = registrableDomain(domain)
  for (const { name, type, value, priority } of records) {
    const whole = name === registered ? name : `${name}.${registered}`
    const there = zone[whole]
    const text = type === 'MX' ? `${priority} ${value}` : value
    zone[whole] = { ...(typeof there === 'object' ? there : {}), [type]: [text] }
  }
}
