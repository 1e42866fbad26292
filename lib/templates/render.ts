import type { ApiError } from '#lib/errors.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { count, placeholders, refusal } from './placeholders.ts'

export type Value = string | number

/** Each part has an escaping of its own. */
export type Part = 'subject' | 'html' | 'text'

/** In place of a value: the placeholder stays as it is written. */
export const AS_WRITTEN = Symbol('as written')

/**
 * What a key stands for; undefined when nothing is known. `has_fallback`: the placeholder brings a value of its own for
 * that case, which beats some (contract 8.1, lookup order).
 */
export type Lookup = (key: string, has_fallback: boolean) => Value | typeof AS_WRITTEN | undefined

/** Characters of a rendered part. */
export const MAX_PART = 5_000_000

/** Keys that no variable may have (contract 8.1). `__proto__` is no own key of anything. */
const RESERVED = new Set(
  'FIRST_NAME LAST_NAME EMAIL UNSUBSCRIBE_URL RESEND_UNSUBSCRIBE_URL contact this __proto__'.split(' '),
)
/** Keys that have a value of ours where there is one; whoever sends may still give another. */
const OURS = new Set(['unsubscribe_url', 'poll'])

export function isReservedKey(key: string): boolean {
  return RESERVED.has(key)
}

/**
 * The keys of a template's variables, in order: what its placeholders name, except what is not for variables to give.
 * Yields now and then, for others to have their turn.
 */
export function* listVariableKeys(...sources: string[]): Generator<void, string[]> {
  const keys = new Set<string>()
  for (const source of sources) {
    for (const found of placeholders(source)) {
      if (found) keys.add(found.key)
      else yield
    }
  }
  return [...keys].filter(key => /^\w+$/.test(key) && !RESERVED.has(key) && !OURS.has(key))
}

/**
 * Puts values in place of placeholders (contract 8.1): `{{key}}`, `{{{key}}}` without HTML escaping, `{{key|fallback}}`.
 * One pass: a value is never looked into again, and whatever is not a placeholder stays as it is. Yields now and then, for
 * others to have their turn.
 *
 * @throws {ApiError} when a placeholder has no value, or the result were too long
 */
export function* render(source: string, part: Part, lookup: Lookup): Generator<void, string> {
  const pieces: string[] = []
  let length = 0
  const put = (piece: string) => {
    length += piece.length
    if (length > MAX_PART) throw tooLong(part)
    pieces.push(piece)
  }

  let end = 0
  for (const found of placeholders(source)) {
    if (!found) {
      yield
      continue
    }
    const { start, next, key, fallback, is_raw } = found
    const value = lookup(key, fallback !== undefined) ?? fallback
    if (value === AS_WRITTEN) continue
    if (value === undefined) throw missingValue(key)
    put(source.slice(end, start))
    put(write(String(value), part, is_raw))
    end = next
  }
  put(source.slice(end))
  return pieces.join('')
}

export function tooLong(part: Part): ApiError {
  return refusal(`The rendered \`${part}\` must have at most ${count(MAX_PART)} characters.`)
}

export function missingValue(key: string): ApiError {
  return refusal(`Missing value for the variable \`${key}\`.`)
}

function write(text: string, part: Part, is_raw: boolean): string {
  // Whatever ends a line somewhere (Unicode 5.8): a subject that gained a line would gain headers.
  if (part === 'subject') return text.replace(/[\r\n\v\f\u0085\u2028\u2029]+/g, ' ')
  return part === 'html' && !is_raw ? escapeHtml(text) : text
}
