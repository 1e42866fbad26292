import { stripTypeScriptTypes } from 'node:module'
import { type Literal, type Node, parse } from 'acorn'
import { full } from 'acorn-walk'
import { analyse } from 'scslre'
import { type Fault, fault, type Tree } from './house_rules.ts'

/** Characters of a pattern in its key. */
const KEY = 16

/**
 * Regular expressions that take more than linear time for a repeated character: a path of 4,000 slashes kept a process busy for a
 * minute. `(?<! ) +$` in place of ` +$` matches the same and looks at a run of spaces once. Patterns that are put together at run
 * time are not seen. The key of a fault has the beginning of the pattern.
 */
export function findSlowPatterns(tree: Tree): Fault[] {
  return [...tree].flatMap(([path, text]) =>
    listPatterns(path, text).flatMap(pattern => {
      const [report] = analyse(pattern, { maxReports: 1, assumeRejectingSuffix: false }).reports
      return report
        ? [fault(`${path} ${pattern.source.slice(0, KEY)}`, `slow for many ${JSON.stringify(report.character.pick)}`)]
        : []
    }),
  )
}

function listPatterns(path: string, text: string): RegExp[] {
  if (!/\.[jt]s$/.test(path)) return []
  const patterns: RegExp[] = []
  const program = parse(stripTypeScriptTypes(text), { ecmaVersion: 'latest', sourceType: 'module' })
  full(program, (node: Node) => {
    const { regex } = node as Literal
    if (regex) patterns.push(new RegExp(regex.pattern, regex.flags))
  })
  return patterns
}
