import type { Library } from './library.ts'

/** A part of a page that has all of the words. */
export type Hit = { slug: string; id: string; page: string; heading: string; excerpt: Piece[] }
/** A piece of an excerpt; `isWord`: it is one of the words. */
export type Piece = { text: string; isWord: boolean }

type Indexed = { slug: string; id: string; page: string; heading: string; text: string; lower: string; title: string }

const MAX_WORDS = 8
const MAX_HITS = 40
const AROUND = 90 // characters of an excerpt on each side of a word

/** Finds parts of pages by their words. */
export class SearchIndex {
  readonly #parts: Indexed[]

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

  /** The best first. A word also finds longer ones that have it. */
  find(question: string): Hit[] {
    const words = wordsOf(question)
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

function wordsOf(question: string): string[] {
  return [...new Set(question.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].slice(0, MAX_WORDS)
}

/** 0 unless each word occurs, in the heading or in the text. */
function scoreOf({ lower, title }: Indexed, words: string[]): number {
  let score = 0
  for (const word of words) {
    const inTitle = occurs(title, word)
    const inText = occurs(lower, word)
    if (inTitle + inText === 0) return 0
    score += 10 * inTitle + inText
  }
  return score / Math.log(100 + lower.length)
}

/** 2: as a word or as its beginning; 1: within one. */
function occurs(text: string, word: string): number {
  const at = text.indexOf(word)
  if (at === -1) return 0
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(word)}`, 'u').test(text) ? 2 : 1
}

function hitOf({ slug, id, page, heading, text }: Indexed, words: string[]): Hit {
  const lower = text.toLowerCase()
  const first = Math.max(0, Math.min(...words.map(word => lower.indexOf(word)).filter(at => at !== -1), text.length))
  const from = first === text.length ? 0 : Math.max(0, text.lastIndexOf(' ', Math.max(0, first - AROUND)) + 1)
  const piece = text.slice(from, from + 2 * AROUND)
  const excerpt = `${from > 0 ? '… ' : ''}${piece}${from + 2 * AROUND < text.length ? ' …' : ''}`
  return { slug, id, page, heading, excerpt: markWords(excerpt, words) }
}

function markWords(text: string, words: string[]): Piece[] {
  const pattern = new RegExp(`(${words.map(word => RegExp.escape(word)).join('|')})`, 'giu')
  return text
    .split(pattern)
    .map((piece, n) => ({ text: piece, isWord: n % 2 === 1 }))
    .filter(({ text }) => text !== '')
}
