import { z } from 'zod'
import { ApiError, type ErrorName, notFound } from '#lib/errors.ts'
import { twinOf } from '#lib/json/camel_case_twins.ts'
import type { Position } from '#sql/page.ts'
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
  const path = givenPath(issue.path, value)
  throw toApiError(issue, path.join('.'), place && `${[place, ...path].join('.')}: `)
}

/** The path of an issue as the caller wrote it: by the camelCase name, and without the list that one value stands for. */
function givenPath(path: PropertyKey[], body: unknown): string[] {
  const given: string[] = []
  let value = body
  for (const key of path) {
    if (typeof key === 'number' && !Array.isArray(value)) continue
    const members = Object(value)
    const twin = twinOf(String(key))
    given.push(members[key] === undefined && Object.hasOwn(members, twin) ? twin : String(key))
    value = members[given.at(-1) as string]
  }
  return given
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.input === undefined && issue.path.length > 0 && issue.code === 'invalid_type'
}

function toApiError(issue: z.core.$ZodIssue, field: string, prefix: string): ApiError {
  if (isMissing(issue)) return new ApiError('missing_required_field', `${prefix}Missing \`${field}\` field.`)
  const { name = 'validation_error', is_sentence = false } = (issue.code === 'custom' && issue.params) || {}
  const what = field ? `Invalid \`${field}\` field: ` : 'Invalid body: '
  const end = /[.!?]$/.test(issue.message) ? '' : '.'
  return new ApiError(name as ErrorName, `${prefix}${is_sentence ? '' : what}${issue.message}${end}`)
}

/** What ids of a resource look like: the id as Postgres takes it, or null. Most are UUIDs. */
export type IdShape = (text: string) => string | null

/** Of any version: a cursor is only a position. */
const Uuid = z.guid()
export const uuid: IdShape = text => (Uuid.safeParse(text).success ? text.toLowerCase() : null)

const MAX_BIGINT = 2n ** 63n - 1n

/** Of logs and webhooks. Beyond all that there can be, it names nothing and is a position after all others. */
export const numericId: IdShape = text => {
  if (!/^(?:0|[1-9][0-9]*)$/.test(text)) return null
  return text.length > 18 && BigInt(text) > MAX_BIGINT ? String(MAX_BIGINT) : text
}

/** An id of a path. One of the wrong shape names nothing, so it is as unknown as any other. */
export function parseId(resource: string, text: string | undefined, shape: IdShape = uuid): string {
  const id = shape(text ?? '')
  if (id === null) throw notFound(resource)
  return id
}

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
const CEILING = 1_000

/** The position of a list that always is in pages of 20 (contract 1.1, class P). */
export function parsePage(ctx: Context, shape: IdShape = uuid): Position {
  return position(ctx, DEFAULT_LIMIT, shape)
}

/** The position of a list that without `limit` comes whole, up to 1,000 (contract 1.1, class O). */
export function parseOptionalPage(ctx: Context): Position {
  return position(ctx, CEILING, uuid)
}

function position(ctx: Context, unlimited: number, shape: IdShape): Position {
  const limit = single(ctx, 'limit')
  const after = cursor(ctx, 'after', shape)
  const before = cursor(ctx, 'before', shape)
  if (after && before) throw invalid('`after` and `before` cannot be combined.')
  return { limit: limit === undefined ? unlimited : parseLimit(limit), after, before }
}

function parseLimit(text: string): number {
  const limit = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw invalid(`\`limit\` must be an integer from 1 to ${MAX_LIMIT}.`)
  return limit
}

function cursor(ctx: Context, name: string, shape: IdShape): string | undefined {
  const text = single(ctx, name)
  if (text === undefined) return undefined
  const id = shape(text)
  if (id === null) throw invalid(`\`${name}\` is not a valid cursor.`)
  return id
}

/** A parameter of the query string, refused when it is given twice. */
export function single(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name]
  if (Array.isArray(value)) throw invalid(`\`${name}\` may be given once.`)
  return value
}

export function invalid(message: string): ApiError {
  return new ApiError('validation_error', message)
}
