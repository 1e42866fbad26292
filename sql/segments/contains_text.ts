import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/**
 * Returns a condition: a text contains at least one of others, in any case. An ASCII part matches only ASCII, so only its case
 * is folded.
 */
export function containsText(text: FragmentSqlToken, parts: string[]): FragmentSqlToken {
  const { ascii = [], other = [] } = Object.groupBy(parts, part => (/^[\0-\x7f]*$/.test(part) ? 'ascii' : 'other'))
  const conditions = other.map(part => sql.fragment`strpos(fold_case(${text}), fold_case(${part})) > 0`)
  if (ascii.length > 0) conditions.push(containsAscii(text, ascii))
  return sql.fragment`(${sql.join(conditions, sql.fragment` OR `)})`
}

function containsAscii(text: FragmentSqlToken, parts: string[]): FragmentSqlToken {
  // Takes half the time of fold_case(), for which Postgres extracts the value from the properties four times.
  const folded = sql.fragment`lower((${text}) COLLATE "C")`
  const lower = parts.map(part => part.toLowerCase())
  if (lower.length === 1) return sql.fragment`strpos(${folded}, ${lower[0] ?? ''}) > 0`
  // The text is extracted and folded once for all parts, which takes longer than comparing it.
  const patterns = lower.map(part => `%${escapeLike(part)}%`)
  return sql.fragment`${folded} LIKE ANY (${sql.array(patterns, 'text')})`
}

export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
