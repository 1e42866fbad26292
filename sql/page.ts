import type { FragmentSqlToken } from '@slonik/sql-tag'
import { sql } from './pool.ts'

/** Where a page of a list lies; `id` cursors are exclusive. */
export type Position = { limit: number; after?: string | undefined; before?: string | undefined }

/** A page of a list, newest first (contract 1.1). */
export type Page<Row> = { object: 'list'; has_more: boolean; data: Row[] }

/**
 * Reads one page by keyset, never by offset. `list` gets the condition, order and limit to put into its query: one row
 * more than asked for, which tells whether there are more.
 */
export async function readPage<Row>(
  { limit, after, before }: Position,
  list: (where: FragmentSqlToken, order: FragmentSqlToken, limit: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  // Without a type of its own, a cursor is of the type of the ids.
  const where = after ? sql.fragment`id < ${after}` : before ? sql.fragment`id > ${before}` : sql.fragment`true`
  const order = before ? sql.fragment`id ASC` : sql.fragment`id DESC`
  const rows = await list(where, order, limit + 1)
  const data = rows.slice(0, limit)
  return { object: 'list', has_more: rows.length > limit, data: before ? data.reverse() : data }
}
