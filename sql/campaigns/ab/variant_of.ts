import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'
import type { Run } from '../sending/runs.ts'

/**
 * The variant that a contact `c` gets: 0 without an A/B test, null while it waits for the winner. By chance, and the same
 * whenever it is asked.
 */
export function variantOf(campaign_id: string, test: Run['ab_test']): FragmentSqlToken {
  if (test === null) return sql.fragment`0`
  const hash = sql.fragment`md5(${campaign_id}::text || c.id)`
  return sql.fragment`
    CASE WHEN ('x' || left(${hash}, 8))::bit(32)::bigint % 10000 < ${test.test_percentage * 100}
      THEN (1 + ('x' || substr(${hash}, 9, 8))::bit(32)::bigint % ${test.variants})::smallint END
  `
}
