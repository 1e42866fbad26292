import { z } from 'zod'
import { jsonForms } from '#lib/json/json_form.ts'

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 uses them. */
export type JsonSchema = Record<string, unknown>

/** A schema with the named schemas that it refers to as `#/$defs/NAME`. A schema with a name is itself such a reference. */
export type NamedSchemas = JsonSchema & { $defs?: Record<string, JsonSchema> }

/** Returns the schema of the JSON that a response has for a value of `schema`. It is strict: no other members are allowed. */
export function answerSchema(schema: z.ZodType): NamedSchemas {
  return toJsonSchema(schema, 'output')
}

/** Returns the schema of the JSON that a request may have. It does not describe checks that only code makes. */
export function requestSchema(schema: z.ZodType): NamedSchemas {
  return toJsonSchema(schema, 'input')
}

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): NamedSchemas {
  const named: Record<string, JsonSchema> = {}
  const { $schema, $defs, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => override(zodSchema as unknown as z.ZodType, jsonSchema, io, named),
  })
  Object.assign(named, $defs)
  return Object.keys(named).length > 0 ? { ...json, $defs: named } : json
}

/** Adapts the JSON Schema that zod derived. `named` collects the named schemas that zod's conversion does not reach. */
function override(schema: z.ZodType, json: JsonSchema, io: 'input' | 'output', named: NamedSchemas): void {
  const form = io === 'output' && jsonForms.get(schema)
  if (form) {
    const { $defs, ...shown } = toJsonSchema(form.schema, io)
    Object.assign(json, shown)
    Object.assign(named, $defs)
  }
  if (schema instanceof z.ZodDate) Object.assign(json, { type: 'string', format: 'date-time' })
  // `anyOf` in `meta` replaces the type that zod derived.
  if (schema.meta()?.anyOf && json.type) for (const name of ['type', 'items']) delete json[name]
  if (!(schema instanceof z.ZodObject) || !json.properties) return // a reference has none
  const member = (name: string) => schema.shape[name] as z.ZodType
  // zod treats members that are preprocessed and then transformed as optional.
  const isRequired = (name: string) => !member(name).safeParse(undefined).success
  const required = (json.required ?? []) as string[]
  json.required =
    io === 'input'
      ? Object.keys(schema.shape).filter(isRequired)
      : required.filter(name => !jsonForms.get(member(name))?.isAbsent)
}
