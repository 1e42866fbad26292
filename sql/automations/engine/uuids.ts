import { sql } from '#sql/pool.ts'

/** A column of rows as an array of SQL. */
export function uuids<Name extends string>(rows: Record<Name, string>[], name: Name) {
  return sql.array(
    rows.map(row => row[name]),
    'uuid',
  )
}
