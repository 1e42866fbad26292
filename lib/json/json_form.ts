import { z } from 'zod'

/**
 * The schema of the JSON that a transform results in, which zod does not know. `isAbsent`: the member may be missing.
 */
type JsonForm = { schema: z.ZodType; isAbsent?: boolean }

type Forms = { add(schema: z.ZodType, form: JsonForm): unknown; get(schema: z.ZodType): JsonForm | undefined }

/**
 * A registry, since `describe` and `meta` create new schemas, which inherit registered data. It is declared with a simpler type:
 * zod's own type of a registry is too deep for TypeScript.
 */
export const jsonForms = z.registry<object>() as unknown as Forms

function withForm<Schema extends z.ZodType>(schema: Schema, form: JsonForm): Schema {
  jsonForms.add(schema, form)
  return schema
}

/** A time in JSON from Postgres. */
export const timestamp = withForm(
  z.string().transform(text => new Date(text)),
  { schema: z.iso.datetime() },
)

/** A member that is left out if Postgres has null. */
export function absent<Schema extends z.ZodType>(schema: Schema) {
  const optional = schema.nullable().transform(value => value ?? undefined)
  return withForm(optional, { schema, isAbsent: true })
}

/** A number in Postgres that is a string in JSON. The conversion is not done in SQL, which would sort lists by the strings. */
export const textId = withForm(z.int().transform(String), { schema: z.string().regex(/^[0-9]+$/) })
