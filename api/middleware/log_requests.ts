import type { Context, Middleware } from '#api/context.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { hideApiKeys } from '#lib/api_key.ts'
import { type WriteBehind, writeBehind } from '#lib/async/write_behind.ts'
import { now } from '#lib/clock.ts'
import { ApiError } from '#lib/errors.ts'
import type { Log } from '#lib/log.ts'
import { redactBody } from '#lib/request_log/redact.ts'
import type { Pool } from '#sql/pool.ts'
import { insertLogs, type NewLog } from '#sql/request_log/logs.ts'
import { splitOnRefusal } from '#sql/retry.ts'

const INTERVAL_MS = 250

/** Maximum number of rows of one statement. */
const MAX_ITEMS = 500
const MAX_WEIGHT = 1 << 20

/** Maximum characters of rows that wait while Postgres is not available or slow. */
const MAX_WAITING = 16 << 20

/** Characters that a row counts besides its texts. */
const ROW_WEIGHT = 300

/** Maximum characters of a path and of a User-Agent, which are both indexed. */
const MAX_TEXT = 500

/** A request with its response; the bodies are neither copied nor encoded yet. */
type Exchange = Omit<NewLog, 'request_body' | 'response_body'> & { request_body: unknown; response_body: unknown }

export type RequestLog = {
  add(exchange: Exchange): void
  /** Stores the rows that still wait. Exchanges that are added later are lost. */
  stop(): Promise<void>
}

/**
 * Stores requests in batches, in the background: no request waits for it or fails because of it, and the bodies are
 * encoded only after the response has been written. Returns null if the request log is turned off.
 */
export function createRequestLog({ config, log, pool }: Foundation): RequestLog | null {
  if (config.LOG_RETENTION_DAYS === 0) return null
  const rows = createRows(pool, log)
  const answered: Exchange[] = []
  const addRows = () => {
    for (const exchange of answered.splice(0)) {
      try {
        rows.add(toRow(exchange))
      } catch (error) {
        log.error({ err: error }, 'a request cannot be logged')
      }
    }
  }

  return {
    add(exchange) {
      // Koa writes the response before the next turn of the event loop.
      if (answered.push(exchange) === 1) setImmediate(addRows)
    },
    async stop() {
      addRows()
      await rows.stop()
    },
  }
}

/** Writes one batch at a time. A row that Postgres refuses is left out. */
function createRows(pool: Pool, log: Log): WriteBehind<NewLog> {
  const onDropped = (count: number, err?: unknown) =>
    log.error({ count, err }, 'requests are missing from the request log')
  const insert = async (rows: NewLog[]): Promise<null[]> => {
    await insertLogs(pool, rows)
    return rows.map(() => null)
  }
  const write = async (rows: NewLog[]): Promise<void> => {
    const refused = (await splitOnRefusal<NewLog, null>(rows, insert)).filter(result => result !== null)
    if (refused.length > 0) onDropped(refused.length, refused[0])
  }
  const onFailure = (error: unknown) => log.warn({ err: error }, 'the request log cannot be written for now')
  return writeBehind(write, {
    ...{ interval_ms: INTERVAL_MS, max_items: MAX_ITEMS, max_weight: MAX_WEIGHT, max_waiting: MAX_WAITING },
    ...{ weigh, onFailure, onDropped },
  })
}

function toRow({ endpoint, user_agent, request_body, response_body, ...exchange }: Exchange): NewLog {
  return {
    ...exchange,
    endpoint: toText(endpoint),
    user_agent: toText(user_agent),
    request_body: request_body === undefined ? null : redactBody(request_body),
    response_body: isData(response_body) ? redactBody(response_body) : null,
  }
}

function toText(text: string): string {
  return hideApiKeys(text).slice(0, MAX_TEXT)
}

/** True if a body is JSON, and neither bytes nor a stream. */
function isData(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  return Array.isArray(body) || body instanceof ApiError || Object.getPrototypeOf(body) === Object.prototype
}

function weigh(row: NewLog): number {
  const { endpoint, user_agent, request_body, response_body } = row
  const bodies = (request_body?.length ?? 0) + (response_body?.length ?? 0)
  return ROW_WEIGHT + endpoint.length + user_agent.length + bodies
}

/** Logs requests with a valid key. Without one, a request belongs to no account. */
export function logRequests(requestLog: RequestLog): Middleware {
  return async (ctx, next) => {
    const created_at = now().toISOString()
    await next()
    if (!ctx.state.caller || !isLogged(ctx)) return
    requestLog.add({
      account_id: ctx.state.caller.account_id,
      created_at,
      method: ctx.method,
      endpoint: ctx.path.replace(/^\/api(?=\/|$)/i, '') || '/',
      response_status: ctx.status,
      user_agent: ctx.get('user-agent'),
      request_body: ctx.state.body,
      response_body: ctx.body,
    })
  }
}

/** True for requests to the API, except those that read the log. */
function isLogged({ method, path }: Context): boolean {
  if (!/^\/(?:api|mcp)(?:\/|$)/i.test(path)) return false
  return (method !== 'GET' && method !== 'HEAD') || !/^\/api\/logs(?:\/|$)/i.test(path)
}
