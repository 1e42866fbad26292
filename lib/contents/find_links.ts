import { QuoteType, Tokenizer } from 'htmlparser2'
import type { Placeholder } from '#lib/templates/placeholders.ts'
import { maskPlaceholders } from './mask_placeholders.ts'

/**
 * The value of an `href`. `from` and `to` are its range in the html; `url` is its decoded text, split at placeholders; `is_off`:
 * the element has `data-track="off"`.
 */
export type FoundHref = { from: number; to: number; url: (string | Placeholder)[]; is_off: boolean }

/**
 * The body begins after its start tag; without one, after the last of the doctype, `<html>` and `</head>`, or at the beginning. It
 * ends before its last end tag, or at the end. `comments`: the ranges of their texts, which nobody sees.
 */
export type FoundPlaces = {
  hrefs: FoundHref[]
  body_start: number
  body_end: number
  comments: { from: number; to: number }[]
}

/** Elements whose `href` users follow. */
const LINKS = new Set(['a', 'area'])
const BEFORE_VALUE = /[ \t\n\f\r]*=[ \t\n\f\r]*/y

/** Finds the `href` of every link, and the start and end of the body, from the HTML tokens (WHATWG HTML 13.2.5). */
export function findPlaces(html: string, slots: Placeholder[]): FoundPlaces {
  const finder = new PlaceFinder(html, slots)
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, finder)
  tokenizer.write(maskPlaceholders(html, slots))
  tokenizer.end()
  const { hrefs, body_start, body_end, comments } = finder
  return { hrefs, body_start, body_end, comments }
}

/** Receives the tokenizer's events. */
class PlaceFinder {
  readonly hrefs: FoundHref[] = []
  readonly comments: FoundPlaces['comments'] = []
  body_end: number
  #head_end = 0
  #body_start: number | null = null
  #tag = ''
  readonly #html: string
  readonly #slots: Placeholder[]
  /** Index of the first placeholder that has not been passed. */
  #next = 0
  #isLink = false
  /** Undefined if the tag has had no href so far; null if its first one has no value. Only the first one counts. */
  #href: FoundHref | null | undefined
  /** The value of `data-track`. */
  #track: string | null = null
  #attribute = ''
  #nameEnd = 0
  #value: (string | Placeholder)[] = []

  constructor(html: string, slots: Placeholder[]) {
    this.#html = html
    this.#slots = slots
    this.body_end = html.length
  }

  onopentagname = (start: number, end: number): void => {
    this.#tag = this.#html.slice(start, end).toLowerCase()
    this.#isLink = LINKS.has(this.#tag)
    this.#href = undefined
    this.#track = null
  }

  onattribname = (start: number, end: number): void => {
    this.#attribute = this.#isLink ? this.#html.slice(start, end).toLowerCase() : ''
    this.#nameEnd = end
    this.#value = []
  }

  onattribdata = (start: number, end: number): void => {
    if (this.#attribute !== 'href' && this.#attribute !== 'data-track') return
    let at = start
    for (; this.#slotAt(this.#next).start < start; this.#next++);
    for (let slot = this.#slotAt(this.#next); slot.start < end; slot = this.#slotAt(++this.#next)) {
      this.#value.push(this.#html.slice(at, slot.start), slot)
      at = slot.next
    }
    this.#value.push(this.#html.slice(at, end))
  }

  onattribentity = (codepoint: number): void => {
    this.#value.push(String.fromCodePoint(codepoint))
  }

  onattribend = (quote: QuoteType, end: number): void => {
    // The first of several attributes with the same name counts.
    if (this.#attribute === 'data-track') this.#track ??= this.#value.join('').trim().toLowerCase()
    if (this.#attribute !== 'href' || this.#href !== undefined) return
    this.#href = quote === QuoteType.NoValue ? null : this.#hrefUpTo(end, quote === QuoteType.Unquoted ? 0 : 1)
  }

  onopentagend = (end: number): void => {
    if (this.#tag === 'body') this.#body_start ??= end + 1
    else if (this.#tag === 'html') this.#head_end = end + 1
    if (this.#href) this.hrefs.push({ ...this.#href, is_off: this.#track === 'off' })
    this.#isLink = false
    this.#href = undefined
  }

  onselfclosingtag = (end: number): void => this.onopentagend(end)

  onclosetag = (start: number, end: number): void => {
    const name = this.#html.slice(start, end).toLowerCase()
    if (name === 'body') this.body_end = start - '</'.length
    if (name === 'head') this.#head_end = this.#html.indexOf('>', end) + 1
  }

  ondeclaration = (_start: number, end: number): void => {
    this.#head_end ||= end + 1
  }

  oncomment = (from: number, to: number): void => {
    this.comments.push({ from, to })
  }

  get body_start(): number {
    return this.#body_start ?? this.#head_end
  }

  oncdata = ignore
  onend = ignore
  onprocessinginstruction = ignore
  ontext = ignore
  ontextentity = ignore

  #hrefUpTo(end: number, quotes: 0 | 1): FoundHref {
    BEFORE_VALUE.lastIndex = this.#nameEnd
    BEFORE_VALUE.test(this.#html)
    return { from: BEFORE_VALUE.lastIndex + quotes, to: end - quotes, url: this.#value, is_off: false }
  }

  #slotAt(index: number): Placeholder | typeof NO_SLOT {
    return this.#slots[index] ?? NO_SLOT
  }
}

const NO_SLOT = { start: Number.POSITIVE_INFINITY, next: Number.POSITIVE_INFINITY } as Placeholder

function ignore(): void {}
