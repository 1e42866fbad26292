import { nameOf, type Schema } from '../api_schemas.ts'

/** Direction of a schema: requests accept more than responses show, and later versions add values to responses. */
export type Side = 'request' | 'response'

/** Writes a schema as a TypeScript type. */
export function typeText(schema: Schema, side: Side, indent = ''): string {
  if (schema.$ref) return nameOf(schema.$ref)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(one => typeText(one, side, indent)))].join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return enumText(schema.enum, side)
  if (schema.format === 'binary') return 'Blob'
  if (schema.contentEncoding === 'base64') return withNull(schema, 'string | Uint8Array')
  const types = [schema.type ?? 'unknown'].flat()
  return types.map(type => wordFor(type, schema, side, indent)).join(' | ')
}

function enumText(values: unknown[], side: Side): string {
  const texts = values.map(value => JSON.stringify(value))
  const hasText = values.some(value => typeof value === 'string')
  // With `string & {}`, editors still suggest the known values.
  return [...texts, ...(side === 'response' && hasText ? ['(string & {})'] : [])].join(' | ')
}

function withNull({ type }: Schema, text: string): string {
  return [type].flat().includes('null') ? `${text} | null` : text
}

function wordFor(type: string, schema: Schema, side: Side, indent: string): string {
  if (type === 'integer') return 'number'
  if (type === 'array') return arrayText(typeText(schema.items ?? {}, side, indent))
  if (type === 'object') return objectText(schema, side, indent)
  return type
}

function arrayText(item: string): string {
  const isObject = item.startsWith('{') && item.endsWith('}')
  return !isObject && item.includes('|') ? `(${item})[]` : `${item}[]`
}

function objectText(schema: Schema, side: Side, indent: string): string {
  const { properties, required = [], additionalProperties } = schema
  if (!properties)
    return `Record<string, ${additionalProperties ? typeText(additionalProperties, side, indent) : 'unknown'}>`
  const inner = `${indent}  `
  const lines = Object.entries(properties)
    // Members that must be absent.
    .filter(([, member]) => !member.not)
    .flatMap(([name, member]) => [
      ...commentText(describedBy(member), inner),
      `${inner}${name}${required.includes(name) ? '' : '?'}: ${memberText(name, member, side, inner)}`,
    ])
  return ['{', ...lines, `${indent}}`].join('\n')
}

function memberText(name: string, member: Schema, side: Side, indent: string): string {
  const text = typeText(member, side, indent)
  return side === 'request' && /_at$|^(from|to)_time$/.test(name) ? text.replace('string', 'string | Date') : text
}

function describedBy({ description, default: value }: Schema): string | undefined {
  return value === undefined ? description : `${description ?? ''} Default: \`${value}\`.`.trim()
}

/** Returns a JSDoc comment on one line. */
export function commentText(text: string | undefined, indent: string): string[] {
  return text ? [`${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */`] : []
}
