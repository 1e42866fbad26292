import type { Context, Middleware } from '#api/context.ts'
import type { Operation } from '#api/operations/operation.ts'

/** Values of a request, as they would be in its path, query string, JSON body and headers. */
export type Request = {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  idempotency_key?: string
}

/**
 * Runs an operation for the caller of `ctx`, as a request would: with the same access, limits, checks and response.
 *
 * @throws {ApiError} the errors of the operation
 */
export async function callOperation(ctx: Context, one: Operation, request: Request): Promise<unknown> {
  const { params = {}, query = {}, body, idempotency_key } = request
  const own = {
    ...{ params, query, method: one.method, status: 200, body: undefined },
    state: { ...ctx.state, body },
    req: Object.create(ctx.req, {
      headersDistinct: { value: idempotency_key === undefined ? {} : { 'idempotency-key': [idempotency_key] } },
    }),
  }
  const inner = Object.create(ctx) as Context
  for (const [name, value] of Object.entries(own)) Object.defineProperty(inner, name, { value, writable: true })
  // The body has already been read.
  await runAll(
    inner,
    one.handlers.filter(handler => handler !== one.body?.read),
  )
  return inner.body
}

async function runAll(ctx: Context, [first, ...rest]: Middleware[]): Promise<void> {
  await first?.(ctx, () => runAll(ctx, rest))
}
