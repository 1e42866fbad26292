import { z } from 'zod'
import { withTwins } from '#lib/json/camel_case_twins.ts'
import { Fixed } from '#lib/zod_fields.ts'

export const PropertyType = z.enum(['string', 'number'])
export type PropertyType = z.infer<typeof PropertyType>

/** In characters. */
const MAX_STRING = 2_000
const MAX_NUMBER = Number.MAX_SAFE_INTEGER

/** The value of a property of a contact: a string of at most 2,000 characters, or a number up to ±(2^53 - 1). */
export const PropertyValue = z.union(
  [z.string().max(MAX_STRING), z.number().min(-MAX_NUMBER).max(MAX_NUMBER)],
  `must be a string of at most ${MAX_STRING.toLocaleString('en')} characters or a number from -(2^53 - 1) to 2^53 - 1`,
)
export type PropertyValue = z.infer<typeof PropertyValue>

/** Longest key, in characters. */
export const MAX_KEY = 50

/** Names of fields that every contact has. Templates and segments read them like properties. */
const RESERVED = new Set([
  'id',
  'email',
  'first_name',
  'last_name',
  'unsubscribed',
  'do_not_track',
  'timezone',
  'created_at',
  'properties',
])

const PropertyKey = z
  .string()
  .regex(/^\w{1,50}$/, 'must be 1 to 50 letters, digits or `_`')
  // Ignores case, since columns of imports are matched without it.
  .refine(key => !RESERVED.has(key.toLowerCase()) && key !== '__proto__', 'is reserved')

/** The body of POST /contact-properties. */
export const NewProperty = withTwins(
  z
    .object({
      key: PropertyKey.describe('1 to 50 letters, digits or `_`. Unique per account.'),
      type: PropertyType.describe('Type of its values.'),
      fallback_value: PropertyValue.nullish()
        .transform(value => value ?? null)
        .describe('Value for contacts that have none, of the `type` of the property.'),
    })
    .refine(({ type, fallback_value: value }) => value === null || typeof value === type, {
      path: ['fallback_value'],
      error: 'must be of the `type` of the property',
    }),
).meta({ id: 'NewContactProperty' })
export type NewProperty = z.output<typeof NewProperty>

/** The body of PATCH /contact-properties/:id. */
export const PropertyChange = withTwins(
  z.object({
    key: Fixed,
    type: Fixed,
    fallback_value: PropertyValue.nullable().describe('Value for contacts that have none; null: none.'),
  }),
).meta({ id: 'ContactPropertyChange' })
