import { z } from 'zod'
import type { ErrorName } from './errors.ts'

/** A custom issue that is answered by an error name of its own. */
export function refuse(context: z.RefinementCtx, name: ErrorName, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message, params: { name } })
  return z.NEVER
}

/** Refuses a list or object of more members than `max` before it looks at any: a body has room for a million. */
export function atMost<Schema extends z.ZodType>(max: number, what: string, schema: Schema) {
  return z.preprocess((value, context) => {
    if (countMembers(value) > max) context.addIssue({ code: 'custom', message: `at most ${max} ${what}` })
    return value
  }, schema)
}

function countMembers(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}
