import type { DomainRecord } from '#lib/domains/domain_records.ts'
import type { ZoneRecord } from './plan.ts'

/** A zone at a provider, opened with its owner's credentials. Each function throws ProviderError. */
export type ProviderZone = {
  /** Returns the records of the same name, or at least those whose types may conflict with the wanted record or be the same. */
  list(wanted: DomainRecord): Promise<ZoneRecord[]>
  /** Returns why the zone cannot have this record, or null. */
  whyNot?(wanted: DomainRecord): string | null
  add(wanted: DomainRecord): Promise<void>
  replace(found: ZoneRecord, value: string): Promise<void>
  /** Writes all changes, for zones that can only be written as a whole. */
  save?(): Promise<void>
}

/** Returns a name relative to the zone; `@` is the zone itself. */
export function hostIn(zone: string, name: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1)
}

/** The reverse of `hostIn`. */
export function nameIn(zone: string, host: string): string {
  return host === '@' || host === '' ? zone : `${host.toLowerCase()}.${zone}`
}

/** Returns the target of a record in the form in which names are compared. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}
