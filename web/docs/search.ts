import type { Library } from './library.ts'

/** A part of a page that contains all words of the query. */
export type Hit = { slug: string; id: string; page: string; heading: string; excerpt: Piece[] }
/** A piece of an excerpt. `isWord`: it is a word of the query. */
export type Piece = { text: string; isWord: boolean }

type IndexedPart = {
  slug: string
  id: string
  page: string
  heading: string
  text: string
  lower: string
  title: string
}

const MAX_WORDS = 8
const MAX_HITS = 40
const CONTEXT = 90 // characters of an excerpt on each side of a word

/** Full-text search in the pages. */
export class SearchIndex {
  readonly #parts: IndexedPart[]

  constructor({ pages }: Library) {
    this.#parts = [...pages.values()].flatMap(({ slug, title, parts }) =>
      parts.map(({ id, heading, text }) => ({
        ...{ slug, id, page: title, heading: heading || title },
        text: text.replaceAll(/\s+/g, ' ').trim(),
        lower: `${heading} ${text}`.toLowerCase(),
        title: `${title} ${heading}`.toLowerCase(),
      })),
    )
  }

  /** Returns the best hits first. A word also matches longer words that contain it. */
  find(query: string): Hit[] {
    const words = wordsOf(query)
    if (words.length === 0) return []
    const found = this.#parts.flatMap(part => {
      const score = scoreOf(part, words)
      return score > 0 ? [{ part, score }] : []
    })
    return found
      .toSorted((one, other) => other.score - one.score)
      .slice(0, MAX_HITS)
      .map(({ part }) => hitOf(part, words))
  }
}

function wordsOf(query: string): string[] {
  return [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].slice(0, MAX_WORDS)
}

/** Returns 0 unless every word occurs in the heading or in the text. */
function scoreOf({ lower, title }: IndexedPart, words: string[]): number {
  let score = 0
  for (const word of words) {
    const inTitle = matchLevel(title, word)
    const inText = matchLevel(lower, word)
    if (inTitle + inText === 0) return 0
    score += 10 * inTitle + inText
  }
  return score / Math.log(100 + lower.length)
}

/** Returns 2 at the beginning of a word, 1 within a word, and otherwise 0. */
function matchLevel(text: string, word: string): number {
  const at = text.indexOf(word)
  if (at === -1) return 0
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(word)}`, 'u').test(text) ? 2 : 1
}

function hitOf({ slug, id, page, heading, text }: IndexedPart, words: string[]): Hit {
  const lower = text.toLowerCase()
  const first = Math.max(0, Math.min(...words.map(word => lower.indexOf(word)).filter(at => at !== -1), text.length))
  const from = first === text.length ? 0 : Math.max(0, text.lastIndexOf(' ', Math.max(0, first - CONTEXT)) + 1)
  const piece = text.slice(from, from + 2 * CONTEXT)
  const excerpt = `${from > 0 ? '… ' : ''}${piece}${from + 2 * CONTEXT < text.length ? ' …' : ''}`
  return { slug, id, page, heading, excerpt: markWords(excerpt, words) }
}

function markWords(text: string, words: string[]): Piece[] {
  const pattern = new RegExp(`(${words.map(word => RegExp.escape(word)).join('|')})`, 'giu')
  return text
    .split(pattern)
    .map((piece, n) => ({ text: piece, isWord: n % 2 === 1 }))
    .filter(({ text }) => text !== '')
}
