import { z } from 'zod'
import { ApiError, type ErrorName, notFound } from '../lib/errors.ts'
import type { Position } from '../sql/page.ts'
import type { Context } from './context.ts'

/**
 * `place`: what the value is called in an error, when it is a part of the body.
 *
 * @throws {ApiError} `missing_required_field` before anything else, or the first issue by its own name
 */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, place = ''): z.output<Schema> {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  const { issues } = result.error
  const issue = issues.find(isMissing) ?? (issues[0] as z.core.$ZodIssue)
  throw toApiError(issue, place && `${[place, ...issue.path].join('.')}: `)
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.input === undefined && issue.path.length > 0 && issue.code === 'invalid_type'
}

function toApiError(issue: z.core.$ZodIssue, prefix: string): ApiError {
  const field = issue.path.join('.')
  if (isMissing(issue)) return new ApiError('missing_required_field', `${prefix}Missing \`${field}\` field.`)
  if (issue.code === 'custom' && issue.params?.name) {
    return new ApiError(issue.params.name as ErrorName, `${prefix}${issue.message}`)
  }
  const what = field ? `Invalid \`${field}\` field: ` : 'Invalid body: '
  return new ApiError('validation_error', `${prefix}${what}${issue.message}`)
}

/** Of any version: a cursor is only a position. */
const Uuid = z.guid()

/** An id of a path. One of the wrong shape names nothing, so it is as unknown as any other. */
export function parseId(resource: string, id: string | undefined): string {
  if (!Uuid.safeParse(id).success) throw notFound(resource)
  return (id as string).toLowerCase()
}

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
const CEILING = 1_000

/** The position of a list that always is in pages of 20 (contract 1.1, class P). */
export function parsePage(ctx: Context): Position {
  return position(ctx, DEFAULT_LIMIT)
}

/** The position of a list that without `limit` comes whole, up to 1,000 (contract 1.1, class O). */
export function parseOptionalPage(ctx: Context): Position {
  return position(ctx, CEILING)
}

function position(ctx: Context, unlimited: number): Position {
  const limit = single(ctx, 'limit')
  const after = cursor(ctx, 'after')
  const before = cursor(ctx, 'before')
  if (after && before) throw invalid('`after` and `before` cannot be combined.')
  return { limit: limit === undefined ? unlimited : parseLimit(limit), after, before }
}

function parseLimit(text: string): number {
  const limit = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw invalid(`\`limit\` must be an integer from 1 to ${MAX_LIMIT}.`)
  return limit
}

function cursor(ctx: Context, name: string): string | undefined {
  const text = single(ctx, name)
  if (text !== undefined && !Uuid.safeParse(text).success) throw invalid(`\`${name}\` is not a valid cursor.`)
  return text
}

/** A parameter of the query string, refused when it is given twice. */
export function single(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name]
  if (Array.isArray(value)) throw invalid(`\`${name}\` may be given once.`)
  return value
}

function invalid(message: string): ApiError {
  return new ApiError('validation_error', message)
}
