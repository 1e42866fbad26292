import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/** Assumed bytes of a compressed payload (the longest that is accepted), and least bytes of any row. */
const MAX_BYTES = 64 << 10
const MIN_BYTES = 400

/** Returns an SQL expression that estimates the bytes of a payload without reading it. */
export function payloadBytes(column: FragmentSqlToken): FragmentSqlToken {
  return sql.fragment`CASE WHEN pg_column_compression(${column}) IS NULL
    THEN greatest(pg_column_size(${column}), ${MIN_BYTES}::int) ELSE ${MAX_BYTES}::int END`
}
