import type { ParsedUrlQuery } from 'node:querystring'
import { z } from 'zod'
import { ApiError } from '#lib/errors.ts'
import { parse } from '#lib/json/parse.ts'
import { refuse, refuseWhole } from '#lib/zod_fields.ts'
import type { Position } from '#sql/page.ts'
import { type IdShape, uuid } from './ids.ts'

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20
const MAX_UNPAGED = 1_000

/** Checks a query string. Ignores parameters that the schema does not have. @throws {ApiError} `validation_error` */
export function readQuery<Query>(schema: z.ZodType<Query>, query: ParsedUrlQuery): Query {
  const shape = schema instanceof z.ZodPipe ? schema.in : schema
  for (const name of shape instanceof z.ZodObject ? Object.keys(shape.shape) : []) {
    if (Array.isArray(query[name])) throw new ApiError('validation_error', `\`${name}\` must be given only once.`)
  }
  return parse(schema, query)
}

type Shape = z.ZodRawShape

/** Query of a list that has pages of 20 by default. */
export function pagedQuery<Filters extends Shape>(filters: Filters, shape: IdShape = uuid) {
  return listQuery(filters, DEFAULT_LIMIT, shape)
}

/** Query of a list that without `limit` returns all items, up to 1,000. */
export function wholeQuery<Filters extends Shape>(filters: Filters, shape: IdShape = uuid) {
  return listQuery(filters, MAX_UNPAGED, shape)
}

function listQuery<Filters extends Shape>(filters: Filters, default_limit: number, shape: IdShape) {
  const limit = z
    .string()
    .transform((text, context) => {
      const number = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0
      if (number >= 1 && number <= MAX_LIMIT) return number
      return refuse(context, 'validation_error', `must be an integer from 1 to ${MAX_LIMIT}`)
    })
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: MAX_LIMIT, description: LIMIT[default_limit] })
  const page = {
    limit,
    after: cursor(shape).meta({ description: 'Id of an item. The page begins after it.' }),
    before: cursor(shape).meta({ description: 'Id of an item. The page ends before it.' }),
  }
  return z.object({ ...page, ...filters }).transform((query, context) => {
    const { limit, after, before, ...rest } = query as Given & Record<string, unknown>
    if (after && before) {
      return refuseWhole(context, 'validation_error', '`after` and `before` cannot be combined.')
    }
    const position: Position = { limit: limit ?? default_limit, after, before }
    return { position, filters: rest as z.output<z.ZodObject<Filters>> }
  })
}

type Given = { limit?: number; after?: string; before?: string }

const LIMIT: Record<number, string> = {
  [DEFAULT_LIMIT]: `Number of items per page. Default: ${DEFAULT_LIMIT}.`,
  [MAX_UNPAGED]: `Number of items per page, at most ${MAX_LIMIT}. Default: all, up to ${MAX_UNPAGED.toLocaleString('en')}.`,
}

/** `true` or `false`. */
export const flag = z
  .string()
  .transform((text, context) => {
    if (text === 'true' || text === 'false') return text === 'true'
    return refuse(context, 'validation_error', 'must be `true` or `false`')
  })
  .optional()
  .meta({ type: 'boolean' })

function cursor(shape: IdShape) {
  return z
    .string()
    .transform((text, context) => {
      const id = shape(text)
      return id ?? refuse(context, 'validation_error', 'must be the id of an item of the list')
    })
    .optional()
}
