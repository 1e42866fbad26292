import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/** A condition: a text has another one in it, in any case. ASCII finds only ASCII, so that its case alone matters. */
export function containsText(text: FragmentSqlToken, part: string): FragmentSqlToken {
  // Half the work of fold_case(), for which Postgres takes the value out of the properties four times.
  if (/^[\0-\x7f]*$/.test(part)) return sql.fragment`strpos(lower((${text}) COLLATE "C"), ${part.toLowerCase()}) > 0`
  return sql.fragment`strpos(fold_case(${text}), fold_case(${part})) > 0`
}
