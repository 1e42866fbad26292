import { z } from 'zod'
import type { ErrorName } from './errors.ts'

/** An issue with an error name of its own. `message` continues "Invalid `to` field: ", as all messages of issues do. */
export function refuse(context: z.RefinementCtx, name: ErrorName, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message, params: { name } })
  return z.NEVER
}

/** The same with a whole sentence as its message. */
export function refuseWhole(context: z.RefinementCtx, name: ErrorName, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message, params: { name, is_sentence: true } })
  return z.NEVER
}

/** A value as it is quoted in a message. */
export function clip(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
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

/** An object of any member names; zod leaves a member named `__proto__` out without a word, so that is refused. */
export function record<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (value, context) => {
      const has = typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')
      if (has) context.addIssue({ code: 'custom', message: '"__proto__" is not a name for a member' })
      return value
    },
    z.record(z.string(), schema),
  )
}

/** `2026-11-21T09:19:04Z`, with an offset, or a day, which begins at midnight UTC. */
export const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], 'must be an ISO 8601 timestamp')
  .transform(value => new Date(value))
