import { isObject } from '#lib/json/is_object.ts'
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
    // The format says the same, and numbers have no pattern.
    ...(pattern === undefined || typeof json.format === 'string' || json.type === 'integer'
      ? {}
      : { pattern: portable(pattern) }),
  })
}

const CHARACTERS = {
  '\\p{Cc}': '\\x00-\\x1f\\x7f-\\x9f',
  // Generators write these characters into literals, where they end the line.
  '\\p{Zl}': '',
  '\\p{Zp}': '',
  // JSON in UTF-8 has none. Without the flag `u` they would be the halves of an emoji.
  '\\p{Cs}': '',
}

/**
 * Writes a pattern for any engine of regular expressions. Some, such as that of Python, do not know `\p{...}`, for others it is
 * the letter `p` (JavaScript without the flag `u`), and some have no lookahead: that a text must be visible is left out.
 */
function portable(pattern: unknown): unknown {
  if (typeof pattern !== 'string') return pattern // a member with this name
  const plain = pattern.replace(/^\^\(\?=[^)]*\)/, '^')
  return Object.entries(CHARACTERS).reduce((text, [name, ranges]) => text.replaceAll(name, ranges), plain)
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
