import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { quoteText } from './quote.ts'

/** Returns lines for a zone file (RFC 1035 section 5.1). All names are fully qualified, so they fit into any zone. */
export function zoneOf(domain: string, records: DomainRecord[], ttl: number): string {
  const lines = records.flatMap(record => [
    `; ${record.record}`,
    [`${record.name}.`, ttl, 'IN', record.type, dataOf(record)].join('\t'),
  ])
  return `${[`; DNS records of ${domain}: add them to its zone.`, ...lines].join('\n')}\n`
}

function dataOf({ type, value, priority }: DomainRecord): string {
  if (type === 'TXT') return quoteText(value)
  return type === 'MX' ? `${priority ?? 0} ${value}.` : `${value}.`
}
