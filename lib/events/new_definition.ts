import { z } from 'zod'
import { counted, Fixed, record } from '#lib/zod_fields.ts'

/** In characters. */
const MAX_NAME = 255
const MAX_KEY = 100
const MAX_KEYS = 100

/** The name of a custom event, or of a built-in one such as `contact.created`. */
export const EventName = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .refine(name => !name.startsWith('service:'), 'must not begin with `service:`, which is reserved')

export const PayloadType = z.enum(['string', 'number', 'boolean', 'date'])
export type PayloadSchema = Record<string, z.infer<typeof PayloadType>>

const TYPES = '`string`, `number`, `boolean` or `date` (an ISO 8601 date or timestamp)'
const Schema = counted(0, MAX_KEYS, 'keys', record(PayloadType))
  .refine(
    schema => Object.keys(schema).every(key => key.length <= MAX_KEY),
    `must have keys of at most ${MAX_KEY} characters`,
  )
  .nullish()
const SCHEMA = `Types by the keys of payloads: ${TYPES}. Keys that it does not have may hold anything.`

export const EVENT_NAME = 'Up to 255 characters, which must not begin with `service:`.'

/** The body of POST /events that defines an event. There, a missing name is a `validation_error`. */
export const NewEventDefinition = z
  .object({
    name: z
      .unknown()
      .refine(name => name !== undefined, 'must be given')
      .pipe(EventName)
      .describe(`Unique in the account. ${EVENT_NAME}`),
    schema: Schema.transform(schema => schema ?? {}).describe(SCHEMA),
  })
  .meta({ id: 'NewEventDefinition' })

/** The body of PATCH /events/:id. */
export const EventDefinitionChange = z
  .object({
    name: Fixed,
    schema: Schema.transform(schema => (schema === null ? {} : schema)).describe(`${SCHEMA} Null: no types.`),
  })
  .meta({ id: 'EventDefinitionChange' })

const checks: Record<z.infer<typeof PayloadType>, { fits: (value: unknown) => boolean; what: string }> = {
  string: { fits: value => typeof value === 'string', what: 'a string' },
  number: { fits: value => typeof value === 'number', what: 'a number' },
  boolean: { fits: value => typeof value === 'boolean', what: '`true` or `false`' },
  date: { fits: isDate, what: 'an ISO 8601 date or timestamp' },
}

const IsoDate = z.union([z.iso.date(), z.iso.datetime({ offset: true, local: true })])

/** Accepts a time without an offset, whose zone is unknown. */
export function isDate(value: unknown): value is string {
  return IsoDate.safeParse(value).success
}

/**
 * Returns a message about the first value of the wrong type, or null. Missing keys, null and keys outside the schema are valid.
 */
export function findWrongType(schema: PayloadSchema, payload: Record<string, unknown>): string | null {
  for (const [key, type] of Object.entries(schema)) {
    const value = Object.hasOwn(payload, key) ? payload[key] : null
    if (value === null || checks[type].fits(value)) continue
    return `\`payload[${JSON.stringify(key)}]\` must be ${checks[type].what}.`
  }
  return null
}
