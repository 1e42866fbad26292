import type { ApiError } from '#lib/errors.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { count, placeholders, refusal } from './placeholders.ts'

export type Value = string | number

/** Each part is escaped differently. */
export type Part = 'subject' | 'html' | 'text'

/** Returned in place of a value to keep the placeholder as it is written. */
export const AS_WRITTEN = Symbol('as written')

/**
 * Returns the value of a key; undefined if there is none. `has_fallback`: the placeholder has a fallback, which takes precedence
 * over some values.
 */
export type Lookup = (key: string, has_fallback: boolean) => Value | typeof AS_WRITTEN | undefined

/** Maximum characters of a rendered part. */
export const MAX_PART = 5_000_000

/** Keys that variables must not have. `__proto__` is not an own key of any object. */
const RESERVED = new Set(
  'FIRST_NAME LAST_NAME EMAIL UNSUBSCRIBE_URL RESEND_UNSUBSCRIBE_URL contact this __proto__'.split(' '),
)
/** Keys that have a built-in value in some mail; senders may give another. */
const OURS = new Set(['unsubscribe_url', 'poll'])

export function isReservedKey(key: string): boolean {
  return RESERVED.has(key)
}

/**
 * Returns the keys of a template's variables, in order: those of its placeholders, except those that variables cannot have.
 * Yields now and then, so that the caller can pause.
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
 * Replaces placeholders with values: `{{key}}`, `{{{key}}}` without HTML escaping, `{{key|fallback}}`. It takes
 * one pass: values are not searched again, and everything else stays as it is. Yields now and then, so that the caller can pause.
 *
 * @throws {ApiError} if a placeholder has no value, or the result is too long
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
  // Replaces everything that ends a line in some systems (Unicode 5.8): a line break in a subject would add headers.
  if (part === 'subject') return text.replace(/[\r\n\v\f\u0085\u2028\u2029]+/g, ' ')
  return part === 'html' && !is_raw ? escapeHtml(text) : text
}
