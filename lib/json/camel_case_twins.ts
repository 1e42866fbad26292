import { z } from 'zod'
import { canonicalJson } from './canonical_json.ts'
import { isObject } from './is_object.ts'

/**
 * An object whose snake_case members may also be given by their camelCase names, as in the resend package: `scheduledAt` for
 * `scheduled_at`. This applies only to members that the schema names, so maps with any names (headers, variables) stay as they
 * are. A member that is given by both names must have the same value.
 */
export function withTwins<Schema extends z.ZodObject>(schema: Schema) {
  const twins = Object.keys(schema.shape)
    .map(name => ({ name, twin: twinOf(name) }))
    .filter(({ name, twin }) => twin !== name)
  return z.preprocess((value, context) => (isObject(value) ? renameTwins(value, twins, context) : value), schema)
}

/** Returns `scheduledAt` for `scheduled_at`. */
export function twinOf(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns a copy, since the fingerprint of an Idempotency-Key and the request log use the original body. */
function renameTwins(value: Members, twins: Twin[], context: z.RefinementCtx): Members {
  const given = twins.filter(({ twin }) => Object.hasOwn(value, twin))
  if (given.length === 0) return value
  const renamed = { ...value }
  for (const { name, twin } of given) {
    if (value[name] !== undefined && canonicalJson(value[name]) !== canonicalJson(value[twin])) {
      context.addIssue({ code: 'custom', path: [twin], message: `must be the same as \`${name}\`` })
    }
    renamed[name] = value[twin]
    delete renamed[twin]
  }
  return renamed
}

type Members = Record<string, unknown>
type Twin = { name: string; twin: string }
