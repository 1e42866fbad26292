import { hash } from 'node:crypto'

/**
 * Parsed JSON as RFC 8785 writes it: keys in order of their UTF-16 units, no white space. Members that are undefined are
 * left out. Recursive: the caller bounds the depth (`findUnstorable`).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'

  let members = ''
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key]
    if (member !== undefined) members += `${members && ','}${JSON.stringify(key)}:${canonicalJson(member)}`
  }
  return `{${members}}`
}

/** SHA-256 over method, route and body: two requests with the same one ask for the same thing. */
export function fingerprint(method: string, route: string, body: unknown): Buffer {
  return hash('sha256', `${method}\n${route}\n${canonicalJson(body)}`, 'buffer')
}
