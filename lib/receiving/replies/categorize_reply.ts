import type { Category } from './category.ts'
import { ASKED, BARE_NO, NEGATIONS, NOT_WANTED, ON_CONDITION, SUPPOSED, TROUBLE } from './patterns.ts'
import { PHRASES } from './phrases.ts'

/** Characters that are searched. Most people say early in a reply whether they are interested. */
const MAX_CHARACTERS = 2_500
/** The weight of one unambiguous phrase. */
const ENOUGH = 3

/**
 * Categorizes a reply by phrases in English, German, Swedish, French and Spanish. Returns null if it has none, or contradictory
 * ones: a wrong category is worse than none. `text` is the reply's own, without quotes.
 */
export function categorizeReply(text: string): Category | null {
  let rest = text
    .slice(0, MAX_CHARACTERS)
    .toLowerCase()
    .replace(/[’‘`´]/g, "'")
    .replace(/\s+/g, ' ')
  if (BARE_NO.test(rest)) return 'not_interested'
  const isTrouble = TROUBLE.test(rest)
  const score = { interested: 0, neutral: 0, not_interested: 0 }
  for (const { pattern, category, weight } of PHRASES) {
    rest = rest.replace(pattern, (found, offset: number, whole: string) => {
      const before = sentenceBefore(whole, offset)
      if (isNotMeant(category, before, whole.slice(offset, offset + 200), found)) return blank(found)
      // `Not that I would not be interested` is not recognized.
      const isNegated = category === 'interested' && NEGATIONS.test(before)
      score[isNegated ? 'not_interested' : category] += isNegated ? Math.min(weight, 2) : weight
      return blank(found)
    })
  }
  const category = decide(score)
  return category === 'interested' && isTrouble ? null : category
}

function decide({ interested, neutral, not_interested }: Record<Category, number>): Category | null {
  if (interested >= ENOUGH && not_interested === 0) return 'interested'
  if (not_interested >= ENOUGH && interested < 2) return 'not_interested'
  if (not_interested >= 2 * ENOUGH && interested <= ENOUGH) return 'not_interested'
  if (neutral >= ENOUGH && interested < 2 && not_interested < 2) return 'neutral'
  return null
}

function isNotMeant(category: Category, before: string, from: string, found: string): boolean {
  if (SUPPOSED.test(before)) return true
  if (category === 'interested') return ON_CONDITION.test(from.slice(found.length))
  return category === 'not_interested' && (NOT_WANTED.test(before) || ASKED.test(before + from))
}

/** Replaces a phrase with dots of the same length that still separate words. */
function blank(found: string): string {
  return ` ${'·'.repeat(Math.max(found.length - 2, 1))} `
}

function sentenceBefore(text: string, offset: number): string {
  const before = text.slice(Math.max(0, offset - 60), offset)
  return before.slice(before.search(/[^.!?;·]*$/))
}
