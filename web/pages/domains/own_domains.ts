import { SENDABLE } from '#lib/domains/domain_status.ts'
import type { ListedDomain } from '#sql/domains/columns.ts'
import { curl, type List } from '#web/layout/list.ts'
import { unicodeDomain } from '#web/layout/parts.ts'
import { listAll } from '#web/request/call_api.ts'
import type { Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

export type OwnDomain = Wire<ListedDomain>

/** Lists the domains of the account. */
export async function findDomains(visit: Visit): Promise<OwnDomain[]> {
  return (await visit.call<List<OwnDomain>>('listDomains')).data
}

/** Lists the domains of the account, first those that can send: the first one is used if none is chosen. */
async function listSendableFirst(visit: Visit): Promise<OwnDomain[]> {
  const canSend = ({ status }: OwnDomain) => SENDABLE.includes(status)
  return (await findDomains(visit)).toSorted((a, b) => Number(canSend(b)) - Number(canSend(a)))
}

/** Returns the names of the domains of the account, as options of a select. */
export async function domainOptions(visit: Visit) {
  return domainNames(await listSendableFirst(visit))
}

/** Returns the names of domains, as options of a select. */
export function domainNames(domains: OwnDomain[]) {
  return domains.map(({ name }) => [name, unicodeDomain(name)] as const)
}

/** Returns the domain for example commands: one that can send, if there is one, so that the commands work. */
export async function exampleDomain(visit: Visit): Promise<{ id: string; name: string }> {
  const [domain] = await listSendableFirst(visit)
  return domain ?? { id: '...', name: 'acme.com' }
}

/** A command that sends an email to an address of the domain, since no other address is known to exist. */
export async function exampleEmail(visit: Visit): Promise<string> {
  const { name } = await exampleDomain(visit)
  const body = { from: `Acme <hello@${name}>`, to: [`anna@${name}`], subject: 'Hello', html: '<p>It works.</p>' }
  return curl(visit, 'POST', '/emails', body)
}

export function nameOfDomain(domains: OwnDomain[], id: string | null): string | undefined {
  return domains.find(domain => domain.id === id)?.name
}

type Named = { id: string; name: string; domain?: string; audience_id?: string }

/**
 * Returns the records of a list as options of a select. Segments and audiences are shown with their domain, since each domain has
 * a segment General and an audience Default.
 */
export async function choicesOf(visit: Visit, operation: string): Promise<[string, string][]> {
  const rows = await listAll<Named>(visit.call, operation)
  const domains = rows.some(({ audience_id }) => audience_id) ? await findDomains(visit) : []
  const labelOf = ({ name, audience_id, domain = nameOfDomain(domains, audience_id ?? null) }: Named) =>
    domain ? `${name} (${unicodeDomain(domain)})` : name
  return rows.map(row => [row.id, labelOf(row)])
}
