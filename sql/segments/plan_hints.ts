import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/**
 * The end of the subqueries of a condition. For many contacts Postgres may read a whole subquery first and look them up
 * in it; for a few that would read far too much, which OFFSET prevents.
 */
export type PlanHint = FragmentSqlToken

export const PLAN_HINTS = { forFew: sql.fragment`OFFSET 0`, forMany: sql.fragment`` } satisfies Record<string, PlanHint>
