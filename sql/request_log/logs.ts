import { z } from 'zod'
import { textId } from '#lib/json/json_form.ts'
import type { LogFilter } from '#lib/request_log/log_filter.ts'
import { type Page, type Position, readPage, seconds } from '#sql/page.ts'
import { type Pool, type Queryable, sql } from '#sql/pool.ts'

/** A request to store. Its bodies are JSON text. */
export type NewLog = {
  account_id: string
  created_at: string
  method: string
  endpoint: string
  response_status: number
  user_agent: string
  request_body: string | null
  response_body: string | null
}

/**
 * Stores requests without waiting for the disk: a crash of Postgres may lose less than a second of them, which is not
 * worth delaying other callers.
 */
export async function insertLogs(pool: Pool, logs: NewLog[]): Promise<void> {
  const column = (name: keyof NewLog, type: string) => {
    const values = logs.map(log => log[name])
    return sql.array(values, type)
  }
  await pool.transaction(async tx => {
    await tx.run(sql.unsafe`SET LOCAL synchronous_commit = off`)
    await tx.run(sql.prepared('insert_logs', z.unknown())`
      INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent, request_body,
        response_body)
      SELECT * FROM unnest(${column('account_id', 'uuid')}, ${column('created_at', 'timestamptz')},
        ${column('method', 'text')}, ${column('endpoint', 'text')}, ${column('response_status', 'int2')},
        ${column('user_agent', 'text')}, ${column('request_body', 'json')}, ${column('response_body', 'json')})
    `)
  })
}

const BODY = 'The first 64 KiB of the body, with secrets replaced by `[redacted]`; null without a body.'

const listed = {
  object: z.literal('log'),
  id: textId,
  created_at: z.date(),
  endpoint: z.string().describe('Path below `/api`, without the query.'),
  method: z.string().describe('HTTP method.'),
  response_status: z.int().describe('HTTP status of the response.'),
  user_agent: z.string().describe('User-Agent header of the request.'),
}

/** A request as GET /logs shows it. */
export const ListedLog = z.object(listed).meta({ id: 'ListedLog' })
export type ListedLog = z.infer<typeof ListedLog>

/** A request as GET /logs/:id shows it. A body is null if there was none or it was not JSON. */
export const LogRecord = z
  .object({ ...listed, request_body: z.unknown().describe(BODY), response_body: z.unknown().describe(BODY) })
  .meta({ id: 'Log' })
export type LogRecord = z.infer<typeof LogRecord>

const columns = sql.fragment`
  'log' AS object, l.id, l.created_at, l.endpoint, l.method, l.response_status, l.user_agent
`

export async function listLogs(
  db: Queryable,
  account_id: string,
  { method, status, endpoint, q, created_after, created_before }: LogFilter,
  position: Position,
): Promise<Page<ListedLog>> {
  // A comparison with a missing filter is null, which coalesce turns into true.
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedLog)`
      SELECT ${columns} FROM logs l
      WHERE l.account_id = ${account_id} AND ${where}
        AND coalesce(l.method = ${method ?? null}, true)
        AND coalesce(l.response_status BETWEEN ${status?.from ?? null} AND ${status?.to ?? null}, true)
        AND coalesce(starts_with(l.endpoint, ${endpoint ?? null}), true)
        AND coalesce(strpos(lower(l.endpoint), lower(${q ?? null})) > 0
          OR strpos(lower(l.user_agent), lower(${q ?? null})) > 0, true)
        AND coalesce(l.created_at > to_timestamp(${seconds(created_after)}), true)
        AND coalesce(l.created_at < to_timestamp(${seconds(created_before)}), true)
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findLog(db: Queryable, account_id: string, id: string): Promise<LogRecord | null> {
  return db.maybeOne(sql.type(LogRecord)`
    SELECT ${columns}, l.request_body, l.response_body FROM logs l
    WHERE l.account_id = ${account_id} AND l.id = ${id}
  `)
}

/** Rows per statement; few enough for its timeout, and for others that wait for the disk meanwhile. */
const MAX_DELETED = 10_000

/**
 * Deletes requests older than `days`, in limited statements. Reads each account from its first id on, since ids rise
 * with time: a row that was written late may stay an hour longer. Returns how many rows were deleted.
 */
export async function deleteExpiredLogs(db: Queryable, days: number): Promise<number> {
  const end = sql.fragment`now() - make_interval(days => ${days})`
  let deleted = 0
  for (let count = 1; count > 0; deleted += count) {
    count = await db.run(sql.unsafe`
      DELETE FROM logs WHERE (account_id, id) IN (
        SELECT l.account_id, l.id
        FROM accounts a
        CROSS JOIN LATERAL (
          SELECT created_at FROM logs WHERE account_id = a.id ORDER BY id LIMIT 1
        ) first
        CROSS JOIN LATERAL (
          SELECT account_id, id, created_at FROM logs
          WHERE account_id = a.id AND first.created_at < ${end} ORDER BY id LIMIT ${MAX_DELETED}
        ) l
        WHERE l.created_at < ${end}
        LIMIT ${MAX_DELETED}
      )
    `)
  }
  return deleted
}
