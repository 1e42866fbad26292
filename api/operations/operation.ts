import type { z } from 'zod'
import type { Context, Middleware } from '#api/context.ts'
import { dashboardOnly, fullAccess, sendingAccess } from '#api/middleware/auth.ts'
import { limitSends } from '#api/middleware/rate_limit.ts'
import { type ErrorName, notFound, statusOf } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import type { Bytes } from './answers.ts'
import { auditChange } from './audit.ts'
import type { Body } from './bodies.ts'
import type { Param } from './params.ts'
import { readQuery } from './queries.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Which API keys may call an operation: those with full access, all of them, or none. */
export type Access = 'full' | 'sending' | 'dashboard'

/** An error that an operation can respond with. */
export type PossibleError = { name: ErrorName; status: number }

/** The error if the name, key or alias in a request is already used by another record. */
export const TAKEN = { name: 'validation_error', status: 409 } as const satisfies PossibleError

/** A request header that an operation reads, besides those of every request. */
export type Header = 'Idempotency-Key' | 'X-Batch-Validation'

/** Bodies of responses by status. */
type Answers<Answer> = Record<number, z.ZodType<Answer> | Bytes>

type Declared<Params extends Record<string, Param>, Query, Given, Answer> = {
  /** Name of the operation in the OpenAPI document, such as `sendEmail`. */
  id: string
  /** Other paths that do the same. */
  aliases?: string[]
  access: Access
  summary: string
  description?: string
  /** True if it counts for the limit of sends per minute. */
  isSend?: boolean
  /** False if its changes are not written to the audit log. Reads and sends never are. */
  isAudited?: boolean
  /** Parameters of the path. An id of the wrong form gets 404. */
  params?: Params
  query?: z.ZodType<Query>
  headers?: Header[]
  body?: Body<Given>
  answers: Answers<Answer>
  /** A file that the query can request in place of the JSON. */
  file?: Bytes
  /** Further errors besides those of api/openapi/errors.ts; with a status, if it is not the usual one of the name. */
  errors?: readonly (ErrorName | PossibleError)[]
}

/**
 * The part of a request that a handler gets. `query()` and `body()` throw 422 if the request does not fit the schema. A handler
 * first finds the records that the path names, and calls these two only after that.
 */
export type Given<Params extends Record<string, Param>, Query, Body> = {
  account_id: string
  params: { [Name in keyof Params]: Params[Name] extends Param<infer Value> ? Value : never }
  query(): Query
  body(): Body
}

/** A route of the API with everything that its documentation and its tests need. */
export type Operation = Omit<Declared<Record<string, Param>, unknown, unknown, unknown>, 'errors'> & {
  method: Method
  path: string
  errors: PossibleError[]
  handlers: Middleware[]
}

const accessChecks = { full: fullAccess, sending: sendingAccess, dashboard: dashboardOnly }

type Handler<Params extends Record<string, Param>, Query, Body, Answer> = (
  ctx: Context,
  given: Given<Params, Query, Body>,
) => Promise<Answer>

/**
 * Declares a route. The handler returns the body of the response, and sets `ctx.status` if there are several.
 *
 * @param route method and path under /api, with the names of its parameters: `GET /emails/:id`
 */
export function operation<
  Params extends Record<string, Param> = Record<never, never>,
  Query = undefined,
  Content = undefined,
  Answer = undefined,
>(
  route: `${Method} /${string}`,
  declared: Declared<Params, Query, Content, Answer>,
): { handle(run: Handler<Params, Query, Content, Answer>): Operation } {
  const { access, isSend, body, answers, errors = [] } = declared
  const [status] = Object.keys(answers).map(Number)
  const [method, path] = route.split(' ') as [Method, string]
  const isAudited = (declared.isAudited ?? true) && method !== 'GET' && access !== 'sending' && !isSend
  const handle = (run: Handler<Params, Query, Content, Answer>): Operation => {
    const respond: Middleware = async ctx => {
      const params = readParams(ctx, declared.params)
      ctx.status = status as number
      const answer = await run(ctx, {
        account_id: ctx.state.caller.account_id,
        params,
        query: () => (declared.query ? readQuery(declared.query, ctx.query) : undefined) as Query,
        body: () => (body ? parse(body.schema, ctx.state.body) : undefined) as Content,
      })
      if (isAudited && !ctx.state.is_replay) await auditChange(ctx, declared.id, path, answer)
      if (answer !== undefined) ctx.body = answer
    }
    const handlers = [accessChecks[access], ...(isSend ? [limitSends] : []), ...(body ? [body.read] : []), respond]
    return { ...(declared as unknown as Operation), method, path, errors: errors.map(withStatus), handlers }
  }
  return { handle }
}

function withStatus(error: ErrorName | PossibleError): PossibleError {
  return typeof error === 'string' ? { name: error, status: statusOf[error] } : error
}

function readParams<Params extends Record<string, Param>>(ctx: Context, params?: Params) {
  const values = Object.entries(params ?? {}).map(([name, { resource, read }]) => {
    const value = read(ctx.params[name] ?? '')
    if (value === null) throw notFound(resource)
    return [name, value]
  })
  return Object.fromEntries(values) as Given<Params, unknown, unknown>['params']
}
