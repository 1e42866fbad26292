import type { DomainRecord } from '#lib/domains/domain_records.ts'
import { toCsvLine } from '#lib/files/csv/write_csv.ts'

/** Returns CSV with a header (RFC 4180). */
export function csvOf(records: DomainRecord[], ttl: number): string {
  const rows = records.map(({ type, name, value, priority }) => [type, name, value, priority, ttl])
  return [['type', 'name', 'value', 'priority', 'ttl'], ...rows].map(toCsvLine).join('')
}
