import { z } from 'zod'
import { clip, counted, record } from '#lib/zod_fields.ts'
import { isReservedKey } from './render.ts'

export const MAX_VARIABLES = 50
const MAX_STRING = 2_000

const MAX_NUMBER = Number.MAX_SAFE_INTEGER

/** The value of a variable. */
export const VariableValue = z.union([z.string().max(MAX_STRING), z.number().min(-MAX_NUMBER).max(MAX_NUMBER)], {
  error: `must be a string of at most ${MAX_STRING.toLocaleString('en')} characters or a number from -(2^53 - 1) to 2^53 - 1`,
})

export const VariableKey = z
  .string()
  .regex(/^\w{1,50}$/, 'must be 1 to 50 letters, digits or `_`')
  .refine(key => !isReservedKey(key), 'is reserved')

/** Values by key. The object may inherit members, so use `Object.hasOwn`. */
export function variablesOf<Schema extends z.ZodType>(value: Schema) {
  return counted(
    0,
    MAX_VARIABLES,
    'variables',
    record(value)
      .superRefine((values, context) => {
        for (const key of Object.keys(values)) {
          const { success, error } = VariableKey.safeParse(key)
          if (!success)
            context.addIssue({ code: 'custom', message: `has the key ${clip(key)}, which ${error.issues[0]?.message}` })
        }
      })
      .nullish(),
  )
}

/** Values in a request to send. */
export const Variables = variablesOf(VariableValue)
export type Variables = NonNullable<z.output<typeof Variables>>

const Id = z.guid().toLowerCase()

/** A name for a template, chosen by the account. One in the form of an id could not be distinguished from an id. */
export const Alias = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    'must be 1 to 64 lower-case letters, digits, `_` or `-`, and begin with a letter or digit',
  )
  .refine(alias => !Id.safeParse(alias).success, 'must not look like an id')

/** A template by its id or its alias. */
export const TemplateRef = z.union([Id, Alias], { error: 'must be the id or the alias of a template' })
