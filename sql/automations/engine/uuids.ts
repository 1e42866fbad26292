import { sql } from '#sql/pool.ts'

/** Returns a column of rows as an SQL array. */
export function uuids<Name extends string>(rows: Record<Name, string>[], name: Name) {
  return sql.array(
    rows.map(row => row[name]),
    'uuid',
  )
}
