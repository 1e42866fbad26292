import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from '#sql/pool.ts'

/**
 * The end of the subqueries of a condition. Of many contacts Postgres may read the whole subquery first and look them up in it;
 * for a few it would read far too much, which an OFFSET keeps it from.
 */
export type Look = FragmentSqlToken

export const LOOK = { atFew: sql.fragment`OFFSET 0`, atMany: sql.fragment`` } satisfies Record<string, Look>
