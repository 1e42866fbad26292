import type { ListedDomain } from '#sql/domains/columns.ts'
import type { List } from '#web/layout/list.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

export type OwnDomain = Wire<ListedDomain>

/** The domains of the account, for forms that let one be chosen. */
export async function findDomains(visit: Visit): Promise<OwnDomain[]> {
  return (await visit.ask<List<OwnDomain>>('listDomains')).data
}

export function nameOfDomain(domains: OwnDomain[], id: string | null): string | undefined {
  return domains.find(domain => domain.id === id)?.name
}
