import { type Fault, fault, type Tree } from './house_rules.ts'

const LITERAL =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(,:[?]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/g
const LIST = /(?:[([{,:?]|\.\.\.)\s*\[/
const STATUS = /\b(?:status|state|last_event|outcome): '/

/** Characters of a call that are looked at. */
const MOST = 4_000

/**
 * Calls of `t.match` that expect a list or the name of a status. `t.match` takes a list for the beginning of another, and
 * `verified` for a part of `partially_verified`: such a test cannot fail. `shows` compares both exactly.
 */
export function findLooseMatches(tree: Tree): Fault[] {
  return [...tree].flatMap(([path, text]) =>
    [...text.matchAll(/\bt\.match\(/g)].flatMap(({ index }) => {
      const pattern = patternOf(text.slice(index, index + MOST))
      const isLoose = LIST.test(withoutLiterals(`,${pattern}`)) || STATUS.test(pattern)
      return isLoose ? [fault(path, `t.match(..., ${pattern.trim().split('\n')[0]}: call shows`)] : []
    }),
  )
}

/** Returns the second argument of the call that a text begins with, and what follows it in the call. */
function patternOf(text: string): string {
  const masked = withoutLiterals(text, literal => '_'.repeat(literal.length))
  let depth = 0
  let comma = 0
  for (let at = masked.indexOf('('); at < masked.length; at++) {
    const character = masked[at] as string
    if ('([{'.includes(character)) depth++
    if (')]}'.includes(character)) depth--
    if (character === ',' && depth === 1 && comma === 0) comma = at
    if (depth === 0) return text.slice(comma + 1, at)
  }
  return text
}

function withoutLiterals(text: string, replace: (literal: string) => string = () => '_'): string {
  return text.replace(LITERAL, replace)
}
