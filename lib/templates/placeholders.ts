import { ApiError } from '#lib/errors.ts'

/** Maximum number of placeholders of a part, which are rendered in well under 200 ms. */
const MAX_PLACEHOLDERS = 20_000

// Every repetition has a limit and none can begin inside another, so the time is linear in the length of the text.
const KEY = String.raw`(?:contact|event)(?:\.\w{1,50}){1,3}|poll_url:[\w-]{1,80}|\w{1,50}`
const INNER = String.raw`\s{0,20}(${KEY})\s{0,20}(?:\|([^{}]{0,2000}))?`
const PLACEHOLDER = new RegExp(String.raw`\{\{\{${INNER}\}\}\}|\{\{${INNER}\}\}`, 'g')
/**
 * Upper limit for the length of a placeholder: six braces, 40 spaces, a key of 160 characters, a bar and a fallback of 2,000 make
 * 2,207.
 */
const LONGEST = 3_000
/** Characters per step of the search. */
const STEP = 256 * 1024

export function hasPlaceholder(source: string): boolean {
  return source.search(PLACEHOLDER) >= 0
}

/** `start` and `next` are its range in the source. `is_raw`: its value is not escaped in HTML. */
export type Placeholder = { start: number; next: number; key: string; fallback: string | undefined; is_raw: boolean }

/** Yields the placeholders of a source, and null after each step of the search, so that the caller can pause. */
export function* placeholders(source: string): Generator<Placeholder | null> {
  let seen = 0
  for (const match of matches(source)) {
    if (match === null) {
      yield null
      continue
    }
    if (++seen > MAX_PLACEHOLDERS) throw refusal(`A part can have at most ${count(MAX_PLACEHOLDERS)} placeholders.`)
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

/**
 * Searches step by step, since a single search does not return before it has found something. A match may begin in one step and
 * end in the next.
 */
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

/** Removes spaces and quotes: `there`, ` there `, `"there"` and `'there'` are the same. */
function unquote(fallback: string | undefined): string | undefined {
  const text = fallback?.trim()
  return text && /^(["']).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1) : text
}

export function count(number: number): string {
  return number.toLocaleString('en')
}

export function refusal(message: string): ApiError {
  return new ApiError('validation_error', message)
}
