import { domainToASCII } from 'node:url'
import { isWithin } from '#lib/net/domain_name.ts'

const FIELD = 'authentication-results'

/** No name is as long, and no line may be (RFC 5322 section 2.1.1). */
const MAX_ID = 998

/**
 * Headers without the Authentication-Results that say they are ours (RFC 8601 section 5): whoever reads them would take a
 * stranger's word for our own. `headers` as in ParsedMessage, `names` are what we are called; what is below one of them is
 * ours as well.
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
 * Whether one of ours is what stands before the first semicolon, however it is written there. Nobody's is taken for ours, and
 * so is an encoded word: no server calls itself so, but a reader may decode it.
 */
function isOwn(value: string, own: readonly string[]): boolean {
  const id = authority(value)
  if (id.length > MAX_ID) return true
  const names = id.split(/[\s"\\/=,@:]+/).flatMap(word => (word ? [canonical(word)] : []))
  return names.length === 0 || id.includes('=?') || names.some(name => own.some(ours => isWithin(name, ours)))
}

/** The authserv-id with its version, without comments, which may nest and hold semicolons. */
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
    if (depth > 0 && text.at(-1) !== ' ') text += ' ' // a comment parts words
  }
  return text
}

/** A name as DNS has it: wide letters, letters that nobody sees and the dot at the end are spellings of it. */
function canonical(name: string): string {
  return (domainToASCII(name) || name.toLowerCase()).replace(/^\.+|\.+$/g, '')
}
