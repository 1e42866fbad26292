import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

/** The position of a page in a list; `id` cursors are exclusive. */
export type Position = { limit: number; after?: string | undefined; before?: string | undefined }

/** A page of a list, newest first. */
export type Page<Row> = { object: 'list'; has_more: boolean; data: Row[] }

export function emptyPage<Row>(): Page<Row> {
  return { object: 'list', has_more: false, data: [] }
}

/** Maximum bytes of JSON of a page whose rows may be large; further rows go to the next page. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024

/**
 * Reads one page by keyset, never by offset. `list` gets the condition, order and limit for its query; the limit is one
 * row more than requested, to tell if there are more. Only for rows that are always small: a thousand of the largest
 * rows that the API allows must stay below MAX_PAGE_BYTES. All other lists are a `HeavyList`.
 */
export async function readPage<Row>(
  position: Position,
  list: (where: FragmentSqlToken, order: FragmentSqlToken, limit: number) => Promise<Row[]>,
): Promise<Page<Row>> {
  const { limit, before } = position
  const rows = await list(condition(position), direction(position), limit + 1)
  const data = rows.slice(0, limit)
  return { object: 'list', has_more: rows.length > limit, data: before ? data.reverse() : data }
}

/** Returns the query of the ids of a page, in order; it must be served by an index before other columns are read. */
export type Ids = (where: FragmentSqlToken, order: FragmentSqlToken, limit: number) => FragmentSqlToken

/** A list of rows whose size depends on strangers or callers. */
export type HeavyList<Shape extends z.ZodRawShape> = {
  type: z.ZodObject<Shape>
  ids: Ids
  /** Returns the query of the row with an id. */
  row: (id: FragmentSqlToken) => FragmentSqlToken
  /** Name of the prepared statement, if only the position changes the text of the queries. */
  name?: string
}

/**
 * As `readPage`, but the page ends before its rows exceed `max_bytes` of JSON; it has at least one row. Postgres
 * measures the rows and sends only those of the page. A page that ends early leaves out the rows farthest from the
 * cursor, so that the next page starts with them.
 */
export async function readHeavyPage<Shape extends z.ZodRawShape>(
  db: Queryable,
  position: Position,
  { type, ids, row, name }: HeavyList<Shape>,
  max_bytes: number = MAX_PAGE_BYTES,
): Promise<Page<z.output<z.ZodObject<Shape>>>> {
  const { limit, before } = position
  const query = name ? sql.prepared(`${name}${nameOf(position)}`, HeavyRow) : sql.type(HeavyRow)
  const rows = await db.any(query`
    WITH matching AS MATERIALIZED (
      SELECT i.id, row_number() OVER () AS n FROM (${ids(condition(position), direction(position), limit + 1)}) i
    )
    SELECT w.*, (SELECT count(*) FROM matching) AS matching_rows FROM (
      -- OFFSET 0: each row is found by its id.
      SELECT x.*, m.n AS place, sum(octet_length(to_json(x)::text)) OVER (ORDER BY m.n) AS bytes_so_far
      FROM matching m CROSS JOIN LATERAL (${row(sql.fragment`m.id`)} OFFSET 0) x
      WHERE m.n <= ${limit}
    ) w
    WHERE w.place = 1 OR w.bytes_so_far <= ${max_bytes}
    ORDER BY w.place
  `)
  const data = rows.map(found => type.parse(found))
  const has_more = (rows[0]?.matching_rows ?? 0) > rows.length
  return { object: 'list', has_more, data: before ? data.reverse() : data }
}

const HeavyRow = z.looseObject({ matching_rows: z.int() })

function condition({ after, before }: Position): FragmentSqlToken {
  // An untyped cursor takes the type of the ids.
  return after ? sql.fragment`id < ${after}` : before ? sql.fragment`id > ${before}` : sql.fragment`true`
}

function nameOf({ after, before }: Position): string {
  return after ? '_after' : before ? '_before' : ''
}

function direction({ before }: Position): FragmentSqlToken {
  return before ? sql.fragment`id ASC` : sql.fragment`id DESC`
}

/** Returns the argument of to_timestamp(). A date as text would fail for the year 0, which Postgres does not have. */
export function seconds(moment: Date | undefined): number | null {
  return moment ? moment.getTime() / 1_000 : null
}
