import type { DomainRecord } from '#lib/domains/domain_records.ts'

/** A table with a header (RFC 4180). */
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

/** What begins like a formula would be one to a spreadsheet: an apostrophe makes it a text. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
