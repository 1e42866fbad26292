import type { z } from 'zod'
import { ApiError, type ErrorName } from '#lib/errors.ts'
import { twinOf } from './camel_case_twins.ts'
import { orList, requirementOf } from './requirements.ts'

/**
 * Checks a value against a schema. Error messages name the field and say what it must be: "`to` must have 1 to 50 addresses."
 *
 * @param place name of the value in errors, if it is only a part of the body
 * @throws {ApiError} `missing_required_field` first, else the first issue under its own name
 */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, place = ''): z.output<Schema> {
  const result = schema.safeParse(value, { reportInput: true, error: requirementOf })
  if (result.success) return result.data
  const { issues } = result.error
  const issue = issues.find(isMissing) ?? (issues[0] as z.core.$ZodIssue)
  throw toApiError(issue, place + writtenPath(issue.path, value, place !== ''))
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  if (namesOf(issue).length > 0) return true
  return issue.input === undefined && issue.path.length > 0 && TYPE_CODES.has(issue.code)
}
const TYPE_CODES = new Set(['invalid_type', 'invalid_value', 'invalid_union'])

/** Returns the members of which at least one is required and none is given (`refuseMissing`). */
function namesOf(issue: z.core.$ZodIssue): string[] {
  return (issue.code === 'custom' && issue.params?.missing) || []
}

/** @param field path of the wrong value; empty for the whole body */
function toApiError(issue: z.core.$ZodIssue, field: string): ApiError {
  if (isMissing(issue)) {
    const names = namesOf(issue).map(name => (field ? `${field}.${name}` : name))
    return new ApiError('missing_required_field', `Missing ${orList(names.length > 0 ? names : [field])} field.`)
  }
  const { name = 'validation_error', is_sentence = false } = (issue.code === 'custom' && issue.params) || {}
  if (is_sentence) return new ApiError(name as ErrorName, issue.message)
  return new ApiError(name as ErrorName, `${field ? `\`${field}\`` : 'The body'} ${issue.message}.`)
}

/**
 * Returns the path of an issue as the caller wrote it, `attachments[1].contentId`: with camelCase names, and without an index if
 * the caller gave a single value in place of a list. If the caller gave a list in place of an object, the path has the name of the
 * member that the list became.
 */
function writtenPath(path: PropertyKey[], body: unknown, is_part: boolean): string {
  let written = ''
  let value = body
  for (const key of path) {
    if (typeof key === 'number' && !Array.isArray(value)) continue
    const members = Object(value)
    const twin = twinOf(String(key))
    const given = members[key] === undefined && Object.hasOwn(members, twin) ? twin : key
    written += step(given, written === '' && !is_part)
    if (typeof key === 'number' || !Array.isArray(value)) value = members[given]
  }
  return written
}

function step(key: PropertyKey, is_first: boolean): string {
  if (typeof key === 'number') return `[${key}]`
  const name = String(key)
  if (!/^[\w-]{1,100}$/.test(name)) return `[${JSON.stringify(name.slice(0, 100))}]`
  return is_first ? name : `.${name}`
}
