import { z } from 'zod'

/**
 * The JSON of a value that a schema turns into something else: zod cannot tell what a transform makes. `isAbsent`: the
 * member may be missing.
 */
type JsonForm = { schema: z.ZodType; isAbsent?: boolean }

type Forms = { add(schema: z.ZodType, form: JsonForm): unknown; get(schema: z.ZodType): JsonForm | undefined }

/**
 * A registry, since `describe` and `meta` make another schema, which inherits what is registered. By a type of its own:
 * that of registries goes through all types within schemas, which TypeScript gives up.
 */
export const jsonForms = z.registry<object>() as unknown as Forms

function withForm<Schema extends z.ZodType>(schema: Schema, form: JsonForm): Schema {
  jsonForms.add(schema, form)
  return schema
}

/** A time in JSON that Postgres made. */
export const timestamp = withForm(
  z.string().transform(text => new Date(text)),
  { schema: z.iso.datetime() },
)

/** A member that is left out where Postgres has null. */
export function absent<Schema extends z.ZodType>(schema: Schema) {
  const optional = schema.nullable().transform(value => value ?? undefined)
  return withForm(optional, { schema, isAbsent: true })
}

/** A number in Postgres that is text in JSON. Not by SQL: a list would be in order of the texts. */
export const textId = withForm(z.int().transform(String), { schema: z.string().regex(/^[0-9]+$/) })
