import { z } from 'zod'
import type { ErrorName } from './errors.ts'

/** Adds an issue with an error name of its own. `message` follows the name of the field, as in all issues: "must be a string". */
export function refuse(context: z.RefinementCtx, name: ErrorName, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message, params: { name } })
  return z.NEVER
}

/** As `refuse`, with a whole sentence as the message. */
export function refuseWhole(context: z.RefinementCtx, name: ErrorName, message: string): typeof z.NEVER {
  context.addIssue({ code: 'custom', message, params: { name, is_sentence: true } })
  return z.NEVER
}

/** Adds an issue: an object has none of these members, one of which is required. */
export function refuseMissing(context: z.RefinementCtx, missing: string[]): void {
  context.addIssue({ code: 'custom', params: { missing } })
}

/** Returns a check that an object has one of two members, and only one. */
export function requireOne(...names: [string, string]) {
  const quoted = names.map(name => `\`${name}\``)
  return (value: Record<string, unknown>, context: z.RefinementCtx): void => {
    const given = names.filter(name => (value[name] ?? null) !== null)
    if (given.length === 0) refuseMissing(context, names)
    if (given.length > 1) context.addIssue({ code: 'custom', message: `must have either ${quoted.join(' or ')}` })
  }
}

/** A member that can be set only when the record is created. */
export const Fixed = z
  .undefined({ error: 'cannot be changed' })
  .optional()
  .meta({ not: {}, description: 'Cannot be changed.' })

/** Returns a text as it is quoted in a message: as JSON, of at most 100 characters. */
export function clip(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}

// A name must not disturb the text around it: no line breaks (Unicode 5.8), and no embeddings, overrides or isolates, which set the
// direction of the text up to their end (UAX 9, 2.1 to 2.4). Implicit directional marks and joiners are allowed, since names need them.
const BIDI_CONTROLS = '\\u202a-\\u202e\\u2066-\\u2069'
const IN_LINE = `[^\\p{Cc}\\p{Zl}\\p{Zp}${BIDI_CONTROLS}]*`
const VISIBLE = '[^\\s\\p{Default_Ignorable_Code_Point}]'

/** One line. */
export const LINE = new RegExp(`^${IN_LINE}$`, 'u')
/** One line with at least one visible character. */
export const TEXT_LINE = new RegExp(`^(?=.*${VISIBLE})${IN_LINE}$`, 'u')
/** One line with at least one visible character, or nothing but white space. */
export const NAME_LINE = new RegExp(`^(?=\\s*$|.*${VISIBLE})${IN_LINE}$`, 'u')

/** Removes embeddings, overrides and isolates. Returns an empty string if nothing visible is left. */
export function withoutBidiControls(name: string): string {
  const text = name.replace(ALL_BIDI_CONTROLS, '')
  return HAS_VISIBLE.test(text) ? text : ''
}
const ALL_BIDI_CONTROLS = new RegExp(`[${BIDI_CONTROLS}]`, 'gu')
const HAS_VISIBLE = new RegExp(VISIBLE, 'u')

/**
 * Rejects a list or object with fewer members than `min` or more than `max` before it looks at any of them: a body has room for a
 * million. `what` names the members: "must have 1 to 50 addresses".
 */
export function counted<Schema extends z.ZodType>(min: number, max: number, what: string, schema: Schema) {
  const limits = min === 0 ? 'at most ' : `${min} to `
  const message = `must have ${limits}${max.toLocaleString('en')} ${what}`
  return z.preprocess((value, context) => {
    const count = countMembers(value)
    if (count !== null && (count < min || count > max)) context.addIssue({ code: 'custom', message })
    return value
  }, schema)
}

/** Returns the number of members; null if the value is neither a list nor an object. */
function countMembers(value: unknown): number | null {
  if (Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : null
}

/** An object with any member names except `__proto__`, which zod would drop silently. */
export function record<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (value, context) => {
      const has = typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')
      if (has) context.addIssue({ code: 'custom', message: 'has the name "__proto__", which is reserved' })
      return value
    },
    z.record(z.string(), schema),
  )
}

/** Descriptions of filters of lists. */
export const CREATED_AFTER = 'Only what was created after this time: an ISO 8601 date or timestamp with an offset.'
export const CREATED_BEFORE = 'Only what was created before this time: an ISO 8601 date or timestamp with an offset.'

/**
 * Tells whether Postgres can read a time in the form of `toISOString()`: it cannot read the year 0000 or years without four
 * digits. It cannot read every offset either, so never pass it the text of a request.
 */
function isStorable(text: string): boolean {
  const at = new Date(text)
  return at >= FIRST && at <= LAST
}
const FIRST = new Date('0001-01-01T00:00:00Z')
const LAST = new Date('9999-12-31T23:59:59.999Z')

/** `2026-11-21T09:19:04Z`, or with another offset. All times in requests are parsed by this or by `moment`. */
export function timestampField(requirement: string) {
  return z.iso
    .datetime({ offset: true, error: requirement })
    .refine(isStorable, requirement)
    .transform(text => new Date(text))
}

const MOMENT = 'must be an ISO 8601 date or a timestamp with an offset'

/** A timestamp, or a day, which begins at midnight UTC. */
export const moment = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], MOMENT)
  .refine(isStorable, MOMENT)
  .transform(value => new Date(value))
