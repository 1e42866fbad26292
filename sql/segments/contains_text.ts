import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/**
 * Returns a condition: a text contains at least one of others, in any case. An ASCII part matches only ASCII, so only its case
 * is folded.
 */
export function containsText(text: FragmentSqlToken, parts: string[]): FragmentSqlToken {
  const { ascii = [], other = [] } = Object.groupBy(parts, part => (/^[\0-\x7f]*$/.test(part) ? 'ascii' : 'other'))
  const conditions = other.map(part => sql.fragment`strpos(fold_case(${text}), fold_case(${part})) > 0`)
  if (ascii.length > 0) {
    // Takes half the time of fold_case(), for which Postgres extracts the value from the properties four times.
    const folded = sql.fragment`lower((${text}) COLLATE "C")`
    conditions.push(
      containsAscii(
        folded,
        ascii.map(part => part.toLowerCase()),
      ),
    )
  }
  return sql.fragment`(${sql.join(conditions, sql.fragment` OR `)})`
}

function containsAscii(folded: FragmentSqlToken, parts: string[]): FragmentSqlToken {
  if (parts.length === 1) return sql.fragment`strpos(${folded}, ${parts[0] ?? ''}) > 0`
  // The text is extracted and folded once for all parts, which takes longer than comparing it.
  const patterns = parts.map(part => `%${escapeLike(part)}%`)
  return sql.fragment`${folded} LIKE ANY (${sql.array(patterns, 'text')})`
}

export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
