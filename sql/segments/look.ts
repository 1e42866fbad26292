import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/**
 * The end of the subqueries of a condition. For many contacts Postgres may read a whole subquery first and look them up
 * in it; for a few that would read far too much, which OFFSET prevents.
 */
export type Look = FragmentSqlToken

export const LOOK = { atFew: sql.fragment`OFFSET 0`, atMany: sql.fragment`` } satisfies Record<string, Look>
