import { z } from 'zod'
import { canonicalJson } from './canonical_json.ts'

/**
 * An object whose snake_case members may also be given by their camelCase twins, as the resend package names them:
 * `scheduledAt` for `scheduled_at`. Only the members that the schema names have a twin, so a map of any names (headers,
 * variables) is left as it is. A member that is given by both names must have one value.
 */
export function withTwins<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).filter(name => twinOf(name) !== name)
  return z.preprocess((value, context) => (isObject(value) ? renameTwins(value, names, context) : value), schema)
}

/** `scheduledAt` of `scheduled_at`. */
export function twinOf(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Not in place: the fingerprint of an Idempotency-Key and the request log are of the body as it came. */
function renameTwins(value: Members, names: string[], context: z.RefinementCtx): Members {
  const given = names.filter(name => Object.hasOwn(value, twinOf(name)))
  if (given.length === 0) return value
  const renamed = { ...value }
  for (const name of given) {
    const twin = twinOf(name)
    if (value[name] !== undefined && canonicalJson(value[name]) !== canonicalJson(value[twin])) {
      context.addIssue({ code: 'custom', path: [twin], message: `is not the same as \`${name}\`` })
    }
    renamed[name] = value[twin]
    delete renamed[twin]
  }
  return renamed
}

type Members = Record<string, unknown>

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
