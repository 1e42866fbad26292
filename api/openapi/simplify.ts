import type { JsonSchema } from './json_schema.ts'

const MAX = Number.MAX_SAFE_INTEGER

/** Shortens a schema without changing its meaning, for readers and for generators of types. */
export function simplify<Schema extends JsonSchema>(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => (isObject(value) ? simplifyOne(value) : value))
}

/** Simplifies one level: `JSON.parse` calls it for the members first. */
function simplifyOne(json: JsonSchema): JsonSchema {
  const { propertyNames, minimum, maximum, pattern, required, properties, ...rest } = json
  return withNull({
    ...rest,
    // Names of members are always strings, and MAX is no real limit.
    ...(isObject(propertyNames) && Object.keys(propertyNames).join() !== 'type' ? { propertyNames } : {}),
    ...(minimum === undefined || minimum === -MAX ? {} : { minimum }),
    ...(maximum === undefined || maximum === MAX ? {} : { maximum }),
    ...(required === undefined || (Array.isArray(required) && required.length === 0) ? {} : { required }),
    ...((isObject(properties) && Object.keys(properties).length === 0) || properties === undefined
      ? {}
      : { properties }),
    // The format says the same.
    ...(pattern === undefined || typeof json.format === 'string' ? {} : { pattern }),
  })
}

/** Writes `anyOf` a type and null as `type: [TYPE, 'null']`. */
function withNull(json: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = json
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null') return json
  const [one] = anyOf
  if (Array.isArray(one.anyOf)) return { ...one, anyOf: [...one.anyOf, { type: 'null' }], ...rest }
  if (typeof one.type !== 'string' || 'const' in one) return json
  const values = Array.isArray(one.enum) ? { enum: [...one.enum, null] } : {}
  return { ...one, type: [one.type, 'null'], ...values, ...rest }
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
