import { z } from 'zod'
import { jsonForms } from '#lib/json/json_form.ts'

/** A JSON Schema (draft 2020-12), as OpenAPI 3.1 uses them. */
export type JsonSchema = Record<string, unknown>

/** A schema, and the named ones that it refers to by `#/$defs/NAME`. A schema with a name is such a reference itself. */
export type NamedSchemas = JsonSchema & { $defs?: Record<string, JsonSchema> }

/** Returns the schema of what is sent as JSON for a value of the schema. Strict: members that it does not name are wrong. */
export function answerSchema(schema: z.ZodType): NamedSchemas {
  return toJsonSchema(schema, 'output')
}

/** Returns the schema of what a request may give. What only code checks is not in it. */
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

/** `named` takes the named schemas of what is not reached by the conversion itself. */
function override(schema: z.ZodType, json: JsonSchema, io: 'input' | 'output', named: NamedSchemas): void {
  const form = io === 'output' && jsonForms.get(schema)
  if (form) {
    const { $defs, ...shown } = toJsonSchema(form.schema, io)
    Object.assign(json, shown)
    Object.assign(named, $defs)
  }
  if (schema instanceof z.ZodDate) Object.assign(json, { type: 'string', format: 'date-time' })
  // `meta` with `anyOf` takes the place of what zod derived.
  if (schema.meta()?.anyOf && json.type) for (const name of ['type', 'items']) delete json[name]
  if (!(schema instanceof z.ZodObject) || !json.properties) return // a reference has none
  const member = (name: string) => schema.shape[name] as z.ZodType
  // zod takes for optional what is preprocessed and then transformed.
  const isRequired = (name: string) => !member(name).safeParse(undefined).success
  const required = (json.required ?? []) as string[]
  json.required =
    io === 'input'
      ? Object.keys(schema.shape).filter(isRequired)
      : required.filter(name => !jsonForms.get(member(name))?.isAbsent)
}
