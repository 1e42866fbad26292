import { ApiError } from '#lib/errors.ts'

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
/** In one part. So many are rendered in well under 200 ms. */
const MAX_PLACEHOLDERS = 20_000

// Every repetition has a limit and none can begin inside another, so the time is linear in the text.
const KEY = String.raw`(?:contact|event)(?:\.\w{1,50}){1,3}|poll_url:[\w-]{1,80}|\w{1,50}`
const INNER = String.raw`\s{0,20}(${KEY})\s{0,20}(?:\|([^{}]{0,2000}))?`
const PLACEHOLDER = new RegExp(String.raw`\{\{\{${INNER}\}\}\}|\{\{${INNER}\}\}`, 'g')
/** No placeholder is longer: two braces of three, twice 20 blanks and 20, a key of 160, a bar and a fallback of 2,000. */
const LONGEST = 3_000
/** Characters that are searched at a time. */
const STEP = 256 * 1024

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

export function hasPlaceholder(source: string): boolean {
  return source.search(PLACEHOLDER) >= 0
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
    if (length > MAX_PART) throw refusal(`The rendered \`${part}\` is longer than ${count(MAX_PART)} characters.`)
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
    if (value === undefined) throw refusal(`Missing value for the variable \`${key}\`.`)
    put(source.slice(end, start))
    put(write(String(value), part, is_raw))
    end = next
  }
  put(source.slice(end))
  return pieces.join('')
}

/** `start` to `next` is where it stands; `is_raw`: its value is not escaped in HTML. */
export type Placeholder = { start: number; next: number; key: string; fallback: string | undefined; is_raw: boolean }

/** Yields null after each step of the search, for others to have their turn. */
export function* placeholders(source: string): Generator<Placeholder | null> {
  let seen = 0
  for (const match of matches(source)) {
    if (match === null) {
      yield null
      continue
    }
    if (++seen > MAX_PLACEHOLDERS) throw refusal(`A part may hold ${count(MAX_PLACEHOLDERS)} placeholders at most.`)
    const [whole, raw_key, raw_fallback, key, fallback] = match.groups
    yield {
      start: match.start,
      next: match.start + whole.length,
      key: (raw_key ?? key) as string,
      fallback: unquote(raw_fallback ?? fallback),
      is_raw: raw_key !== undefined,
    }
  }
}

type Match = { start: number; groups: RegExpExecArray }

/** Step by step, as a search does not end before it has found something. A match may begin in one step and end in the next. */
function* matches(source: string): Generator<Match | null> {
  let from = 0
  for (let start = 0; start < source.length; start += STEP) {
    const end = start + STEP
    const text = source.slice(start, end + LONGEST)
    PLACEHOLDER.lastIndex = Math.max(0, from - start)
    const found: Match[] = []
    for (let match = PLACEHOLDER.exec(text); match && start + match.index < end; match = PLACEHOLDER.exec(text)) {
      found.push({ start: start + match.index, groups: match })
      from = start + match.index + match[0].length
    }
    yield* found
    yield null
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
