import type { DomainRecord } from '#lib/domains/domain_records.ts'
import type { ZoneRecord } from './plan.ts'

/** A zone at a provider, opened with the credentials of whoever owns it. Each function throws ProviderError. */
export type ProviderZone = {
  /** All records that are in the way of this one, or are it: those of its name, or of it all that matter to its type. */
  list(wanted: DomainRecord): Promise<ZoneRecord[]>
  /** Why it cannot have this record, or null. */
  whyNot?(wanted: DomainRecord): string | null
  add(wanted: DomainRecord): Promise<void>
  replace(found: ZoneRecord, value: string): Promise<void>
  /** Where a zone is only written whole: what was added and replaced until now is nothing before. */
  save?(): Promise<void>
}

/** A name as it is called inside a zone; `@` is the zone itself. */
export function hostIn(zone: string, name: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1)
}

/** The other way round. */
export function nameIn(zone: string, host: string): string {
  return host === '@' || host === '' ? zone : `${host.toLowerCase()}.${zone}`
}

/** A name that a record leads to, as all names are compared. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
