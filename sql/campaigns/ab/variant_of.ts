import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'
import type { Run } from '../sending/runs.ts'

/**
 * Returns an expression: the variant of contact `c`, 0 without an A/B test, null while it waits for the winner.
 * Pseudo-random, but always the same for a contact and a campaign.
 */
export function variantOf(campaign_id: string, test: Run['ab_test']): FragmentSqlToken {
  if (test === null) return sql.fragment`0`
  const hash = sql.fragment`md5(${campaign_id}::text || c.id)`
  return sql.fragment`
    CASE WHEN ('x' || left(${hash}, 8))::bit(32)::bigint % 10000 < ${test.test_percentage * 100}
      THEN (1 + ('x' || substr(${hash}, 9, 8))::bit(32)::bigint % ${test.variants})::smallint END
  `
}
