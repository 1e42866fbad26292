import { quoteText } from '#lib/domains/export/quote.ts'

type Record = { name: string; type: string; value: string; priority?: number }

/** A record as it stands in a zone file. `name` and a name in `value` are whole, without a dot at the end. */
export function recordLine({ name, type, value, priority }: Record): string {
  return [`${name}.`, 'IN', type, ...(priority === undefined ? [] : [priority]), dataOf(type, value)].join(' ')
}

function dataOf(type: string, value: string): string {
  if (type === 'TXT') return quoteText(value)
  return type === 'A' || type === 'AAAA' ? value : `${value}.`
}
