import type { DomainRecord } from '#lib/domains/domain_records.ts'

/** Returns CSV with a header (RFC 4180). */
export function csvOf(records: DomainRecord[], ttl: number): string {
  const rows = records.map(({ type, name, value, priority }) => [
    type,
    name,
    value,
    String(priority ?? ''),
    String(ttl),
  ])
  return [['type', 'name', 'value', 'priority', 'ttl'], ...rows].map(row => `${row.map(cell).join(',')}\r\n`).join('')
}

/** Prefixes text that begins like a formula with an apostrophe, so that spreadsheets treat it as text. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
