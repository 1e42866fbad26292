import type { z } from 'zod'
import { ApiError, type ErrorName } from '#lib/errors.ts'
import { twinOf } from './camel_case_twins.ts'

/**
 * Checks a value by its schema.
 *
 * @param place the value's name in an error, if it is only a part of the body
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
