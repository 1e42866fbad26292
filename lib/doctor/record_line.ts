/** Of a string of a TXT record (RFC 1035 section 3.3.14). */
const MAX_STRING = 255

type Record = { name: string; type: string; value: string; priority?: number }

/** A record as it stands in a zone file. `name` and a name in `value` are whole, without a dot at the end. */
export function recordLine({ name, type, value, priority }: Record): string {
  return [`${name}.`, 'IN', type, ...(priority === undefined ? [] : [priority]), dataOf(type, value)].join(' ')
}

function dataOf(type: string, value: string): string {
  if (type === 'A' || type === 'AAAA') return value
  if (type !== 'TXT') return `${value}.`
  const strings = value.match(new RegExp(`.{1,${MAX_STRING}}`, 'gs')) ?? ['']
  return strings.map(text => `"${text.replace(/["\\]/g, '\\$&')}"`).join(' ')
}
