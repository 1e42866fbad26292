import { ApiError } from './errors.ts'

export type Value = string | number

/** Each part has an escaping of its own. */
export type Part = 'subject' | 'html' | 'text'

/**
 * What a key stands for; undefined when nothing is known. `has_fallback`: the placeholder brings a value of its own for
 * that case, which beats some (contract 8.1, lookup order).
 */
export type Lookup = (key: string, has_fallback: boolean) => Value | undefined

/** Characters of a rendered part. */
export const MAX_PART = 5_000_000
/** In one part. So many are rendered in well under 200 ms, in which the process does nothing else. */
const MAX_PLACEHOLDERS = 20_000

// Every repetition has a limit and none can begin inside another, so the time is linear in the text.
const KEY = String.raw`(?:contact|event)(?:\.\w{1,50}){1,3}|poll_url:[\w-]{1,80}|\w{1,50}`
const INNER = String.raw`\s{0,20}(${KEY})\s{0,20}(?:\|([^{}]{0,2000}))?`
const PLACEHOLDER = new RegExp(String.raw`\{\{\{${INNER}\}\}\}|\{\{${INNER}\}\}`, 'g')

/** Keys that no variable may have (contract 8.1). `__proto__` is no own key of anything. */
const RESERVED = new Set(
  'FIRST_NAME LAST_NAME EMAIL UNSUBSCRIBE_URL RESEND_UNSUBSCRIBE_URL contact this __proto__'.split(' '),
)
/** Keys that have a value of ours where there is one; whoever sends may still give another. */
const OURS = new Set(['unsubscribe_url', 'poll'])

export function isReservedKey(key: string): boolean {
  return RESERVED.has(key)
}

/** The keys of a template's variables, in order: what its placeholders name, except what is not for variables to give. */
export function listVariableKeys(...sources: string[]): string[] {
  const keys = new Set<string>()
  for (const source of sources) for (const { key } of placeholders(source)) keys.add(key)
  return [...keys].filter(key => /^\w+$/.test(key) && !RESERVED.has(key) && !OURS.has(key))
}

export function hasPlaceholder(source: string): boolean {
  return source.search(PLACEHOLDER) >= 0
}

/**
 * Puts values in place of placeholders (contract 8.1): `{{key}}`, `{{{key}}}` without HTML escaping, `{{key|fallback}}`.
 * One pass: a value is never looked into again, and whatever is not a placeholder stays as it is.
 *
 * @throws {ApiError} when a placeholder has no value, or the result were too long
 */
export function render(source: string, part: Part, lookup: Lookup): string {
  const pieces: string[] = []
  let length = 0
  const put = (piece: string) => {
    length += piece.length
    if (length > MAX_PART) throw refusal(`The rendered \`${part}\` is longer than ${count(MAX_PART)} characters.`)
    pieces.push(piece)
  }

  let end = 0
  for (const { start, next, key, fallback, is_raw } of placeholders(source)) {
    const value = lookup(key, fallback !== undefined) ?? fallback
    if (value === undefined) throw refusal(`Missing value for the variable \`${key}\`.`)
    put(source.slice(end, start))
    put(write(String(value), part, is_raw))
    end = next
  }
  put(source.slice(end))
  return pieces.join('')
}

type Placeholder = { start: number; next: number; key: string; fallback: string | undefined; is_raw: boolean }

function* placeholders(source: string): Generator<Placeholder> {
  let seen = 0
  for (const match of source.matchAll(PLACEHOLDER)) {
    if (++seen > MAX_PLACEHOLDERS) throw refusal(`A part may hold ${count(MAX_PLACEHOLDERS)} placeholders at most.`)
    const [whole, raw_key, raw_fallback, key, fallback] = match
    yield {
      start: match.index,
      next: match.index + whole.length,
      key: (raw_key ?? key) as string,
      fallback: unquote(raw_fallback ?? fallback),
      is_raw: raw_key !== undefined,
    }
  }
}

/** `there`, ` there `, `"there"` and `'there'` are all there. */
function unquote(fallback: string | undefined): string | undefined {
  const text = fallback?.trim()
  return text && /^(["']).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1) : text
}

function write(text: string, part: Part, is_raw: boolean): string {
  // Whatever ends a line somewhere (Unicode 5.8): a subject that gained a line would gain headers.
  if (part === 'subject') return text.replace(/[\r\n\v\f\u0085\u2028\u2029]+/g, ' ')
  return part === 'html' && !is_raw ? text.replace(/[&<>"']/g, character => ENTITIES[character] as string) : text
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function count(number: number): string {
  return number.toLocaleString('en')
}

function refusal(message: string): ApiError {
  return new ApiError('validation_error', message)
}
