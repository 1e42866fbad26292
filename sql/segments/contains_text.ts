import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/**
 * Returns a condition: a text contains another one, in any case. An ASCII part matches only ASCII, so only its case is
 * folded.
 */
export function containsText(text: FragmentSqlToken, part: string): FragmentSqlToken {
  // Takes half the time of fold_case(), for which Postgres extracts the value from the properties four times.
  if (/^[\0-\x7f]*$/.test(part)) return sql.fragment`strpos(lower((${text}) COLLATE "C"), ${part.toLowerCase()}) > 0`
  return sql.fragment`strpos(fold_case(${text}), fold_case(${part})) > 0`
}
