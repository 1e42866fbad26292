import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { NoRoomError } from '#api/bodies/budget.ts'
import type { Context, Middleware } from '#api/context.ts'
import { ApiError, type ErrorName } from '#lib/errors.ts'
import { BlobStoreError } from '#lib/files/blob_store.ts'
import { NoAnswerError, NotConnectedError, sqlState } from '#sql/pool.ts'

/** Returns the names of the errors that the operation of a request declares. */
export type FindErrors = (request: Pick<Context, 'method' | 'path'>) => readonly ErrorName[]

/** Responds to every error with `{ statusCode, name, message }`. Details that are not for callers go to the log only. */
export function answerErrors(findErrors: FindErrors): Middleware {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const answer = answerTo(ctx, error, findErrors(ctx))
      ctx.status = answer.statusCode
      ctx.set(answer.headers)
      ctx.body = answer
    }
  }
}

/** Returns the error for the client. Errors that an operator may have to do something about are logged. */
export function answerTo(ctx: Context, error: unknown, errors: readonly ErrorName[]): ApiError {
  const answer = error instanceof ApiError ? error : unexpected(error, errors)
  // Contacts that another request writes are not logged: an operator need not do anything about it.
  const isOrdinary = error instanceof ApiError && error.name === 'contacts_busy'
  if (answer.statusCode >= 500 && !isOrdinary) {
    ctx.log.error({ err: error, method: ctx.method, path: withoutToken(ctx.path) }, 'a request failed')
  }
  return answer
}

/** Redacts the token of a link that invites a member or resets a password: whoever has it can become this member. */
function withoutToken(path: string): string {
  return path.replace(/^\/+join\/.*/i, '/join/[redacted]')
}

/** Errors of overload, or of a server behind us that is not available at the moment. Callers retry. */
const PASSING = [NotConnectedError, NoAnswerError, BlobStoreError, NoRoomError]
// Lost connections, a standby in place of the primary, conflicts, exhausted resources, locks, shutdowns, disk errors.
const PASSING_STATES = /^(08|25006|40|53|55P03|57|58)/

/** Tells whether a request that failed with this error may succeed in a moment. */
export function isPassing(error: unknown): boolean {
  return PASSING.some(kind => error instanceof kind) || PASSING_STATES.test(sqlState(error) ?? '')
}

/** The names of the error of overload; an operation that declares none of them responds with 500. */
const OVERLOAD: ErrorName[] = ['sending_service_unavailable', 'contacts_busy']

function unexpected(error: unknown, errors: readonly ErrorName[]): ApiError {
  if (!isPassing(error)) return new ApiError('internal_server_error', 'An unexpected error occurred. Retry later.')
  const name = OVERLOAD.find(name => errors.includes(name)) ?? 'internal_server_error'
  return new ApiError(name, 'The service is overloaded. Retry later.', { headers: { 'retry-after': '5' } })
}

/**
 * Responds to what Node rejects before there is a request: malformed HTTP (400), a client that is too slow (408), headers
 * that are too large (431).
 */
export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const statusCode = clientErrors[error.code ?? ''] ?? 400
  const body = JSON.stringify(new ApiError('validation_error', messages[statusCode] as string, { statusCode }))
  socket.end(
    `HTTP/1.1 ${statusCode} Refused\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

const clientErrors: Record<string, number> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

const messages: Record<number, string> = {
  400: 'The HTTP request is malformed.',
  408: 'The request took too long to arrive.',
  431: 'The headers of the request are too large.',
}

/** Returns every value of a header. `request.headers` has only the first value of some headers, and joins those of others. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name] ?? []
}
