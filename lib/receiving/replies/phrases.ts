import type { Category } from './category.ts'
import de from './phrases/de.json' with { type: 'json' }
import en from './phrases/en.json' with { type: 'json' }
import es from './phrases/es.json' with { type: 'json' }
import fr from './phrases/fr.json' with { type: 'json' }
import sv from './phrases/sv.json' with { type: 'json' }

/**
 * Phrases in lower case, by category and weight; a weight of 3 is enough by itself. `*` stands for the rest of a word,
 * ` _ ` for up to three words.
 */
type Language = { [category in Category]: { [weight: string]: readonly string[] } }

export type Phrase = { pattern: RegExp; category: Category; weight: number; length: number }

const LANGUAGES: readonly Language[] = [en, de, sv, fr, es]

/** The phrases of all languages, the longest first: `not interested` covers `interested`. */
export const PHRASES: readonly Phrase[] = [
  ...compile('interested'),
  ...compile('not_interested'),
  ...compile('neutral'),
].sort((one, other) => other.length - one.length)

function compile(category: Category): Phrase[] {
  const lists = LANGUAGES.flatMap(language => Object.entries(language[category]))
  return lists.flatMap(([weight, list]) =>
    list.map(phrase => ({
      pattern: compilePhrase(phrase),
      category,
      weight: Number(weight),
      length: phrase.length,
    })),
  )
}

function compilePhrase(phrase: string): RegExp {
  const source = phrase
    .split(' _ ')
    .map(part => RegExp.escape(part).replaceAll('\\*', '\\p{L}*'))
    .join("(?: [\\p{L}']+){0,3} ")
  return new RegExp(`(?<![\\p{L}\\p{N}])${source}(?![\\p{L}\\p{N}])`, 'gu')
}
