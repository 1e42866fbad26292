import { quoteText } from '#lib/domains/export/quote.ts'

type Record = { name: string; type: string; value: string; priority?: number }

/** Returns a record as in a zone file. `name`, and a name in `value`, are fully qualified, without a trailing dot. */
export function recordLine({ name, type, value, priority }: Record): string {
  return [`${name}.`, 'IN', type, ...(priority === undefined ? [] : [priority]), dataOf(type, value)].join(' ')
}

function dataOf(type: string, value: string): string {
  if (type === 'TXT') return quoteText(value)
  return type === 'A' || type === 'AAAA' ? value : `${value}.`
}
