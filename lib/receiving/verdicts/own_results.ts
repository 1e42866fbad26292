import { domainToASCII } from 'node:url'
import { isWithin } from '#lib/net/domain_name.ts'

const FIELD = 'authentication-results'

/** Longer than any name, and than a line may be (RFC 5322 section 2.1.1). */
const MAX_ID = 998

/**
 * Removes Authentication-Results that claim to be ours (RFC 8601 section 5), since readers would trust a stranger's results as
 * ours. `headers` as in ParsedMessage; `names` are our names, which include the names below them.
 */
export function stripOwnResults(headers: Record<string, string>, names: readonly string[]): Record<string, string> {
  const own = names.map(canonical)
  const kept = Object.entries(headers).flatMap(([name, lines]): [string, string][] => {
    if (name.trim().toLowerCase() !== FIELD) return [[name, lines]]
    const left = lines.split('\n').filter(value => !isOwn(value, own))
    return left.length > 0 ? [[name, left.join('\n')]] : []
  })
  return Object.fromEntries(kept)
}

/**
 * Tells whether one of our names is before the first semicolon, in any spelling. An empty name counts as ours, and so does an
 * encoded-word: no server has such a name, but a reader may decode it.
 */
function isOwn(value: string, own: readonly string[]): boolean {
  const id = authority(value)
  if (id.length > MAX_ID) return true
  const names = id.split(/[\s"\\/=,@:]+/).flatMap(word => (word ? [canonical(word)] : []))
  return names.length === 0 || id.includes('=?') || names.some(name => own.some(ours => isWithin(name, ours)))
}

/** Returns the authserv-id with its version, without comments, which may nest and contain semicolons. */
function authority(value: string): string {
  let depth = 0
  let text = ''
  for (let i = 0; i < value.length; i++) {
    const char = value[i] as string
    if (char === '\\') {
      i++
      if (depth === 0) text += value[i] ?? ''
    } else if (char === '(') depth++
    else if (char === ')') depth = Math.max(0, depth - 1)
    else if (depth > 0) continue
    else if (char === ';') break
    else text += char
    if (depth > 0 && text.at(-1) !== ' ') text += ' ' // a comment separates words
  }
  return text
}

/** Returns a name in the form of DNS: full-width letters, invisible characters and a trailing dot are only spellings of it. */
function canonical(name: string): string {
  return (domainToASCII(name) || name.toLowerCase()).replace(/^\.+|(?<!\.)\.+$/g, '')
}
