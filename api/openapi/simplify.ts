import type { JsonSchema } from './json_schema.ts'

const MAX = Number.MAX_SAFE_INTEGER

/** Says the same as a schema in fewer words: for readers, and for generators of types. */
export function simplify<Schema extends JsonSchema>(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value) => (isObject(value) ? simplifyOne(value) : value))
}

/** Members are simple already: `JSON.parse` comes to them first. */
function simplifyOne(json: JsonSchema): JsonSchema {
  const { propertyNames, minimum, maximum, pattern, required, properties, ...rest } = json
  return withNull({
    ...rest,
    // Names of members are strings anyway, and numbers of JSON are no greater.
    ...(isObject(propertyNames) && Object.keys(propertyNames).join() !== 'type' ? { propertyNames } : {}),
    ...(minimum === undefined || minimum === -MAX ? {} : { minimum }),
    ...(maximum === undefined || maximum === MAX ? {} : { maximum }),
    ...(required === undefined || (Array.isArray(required) && required.length === 0) ? {} : { required }),
    ...((isObject(properties) && Object.keys(properties).length === 0) || properties === undefined
      ? {}
      : { properties }),
    // A format says it already.
    ...(pattern === undefined || typeof json.format === 'string' ? {} : { pattern }),
  })
}

/** `anyOf` a type and null is that type or null. */
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
