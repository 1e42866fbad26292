/** A JSON Schema of the OpenAPI document. */
export type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  contentEncoding?: string
  items?: Schema
  not?: object
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  required?: string[]
  minimum?: number
  maximum?: number
  description?: string
  default?: unknown
}

/** A field in a table. Nested ones have a path: `capabilities.sending`, `tags[].name`. */
export type Field = { name: string; type: string; isRequired: boolean; description: string }

/** Renders a reference to a named schema as Markdown. */
export type ShowRecord = (name: string) => string

/** Longer lists of values are not shown in tables. */
const MAX_VALUES = 10

const FORMATS: Record<string, string> = { 'date-time': 'time', date: 'date', uuid: 'UUID' }

/** Returns the name of the schema in a `$ref`. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

/** Lists the fields that have a description, each followed by its nested fields. The others mean the same in every record. */
export function fieldsOf({ properties = {}, required = [] }: Schema, show: ShowRecord, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const { description } = schema
    const ending = schema.default === undefined ? '' : ` Default: \`${schema.default}\`.`
    const field = { name: prefix + name, type: typeOf(schema, show), isRequired: required.includes(name) }
    return [
      ...(description === undefined ? [] : [{ ...field, description: description + ending }]),
      ...fieldsOf(schema, show, `${prefix}${name}.`),
      ...fieldsOf(schema.items ?? {}, show, `${prefix}${name}[].`),
    ]
  })
}

/** Returns a type in words: `string or null`, `list of strings`, or its values. */
export function typeOf(schema: Schema, show: ShowRecord): string {
  if (schema.$ref) return show(nameOf(schema.$ref))
  if (schema.not) return 'nothing'
  if (schema.anyOf) return [...new Set(schema.anyOf.map(one => typeOf(one, show)))].join(' or ')
  if ('const' in schema) return valuesOf([schema.const])
  if (schema.enum && schema.enum.length <= MAX_VALUES) return valuesOf(schema.enum)
  const types = [schema.type ?? 'any JSON'].flat().map(type => wordFor(type, schema, show))
  return types.join(' or ')
}

function valuesOf(values: unknown[]): string {
  return values.map(value => (value === null ? 'null' : `\`${value}\``)).join(', ')
}

function wordFor(type: string, schema: Schema, show: ShowRecord): string {
  const { items, additionalProperties, format = '', minimum, maximum } = schema
  if (type === 'array') return `list of ${pluralOf(items ?? {}, show)}`
  if (type === 'object' && additionalProperties) return `object of ${pluralOf(additionalProperties, show)}`
  if (type === 'string') return FORMATS[format] ?? type
  return minimum !== undefined && maximum !== undefined ? `${type} from ${minimum} to ${maximum}` : type
}

function pluralOf(schema: Schema, show: ShowRecord): string {
  const words = typeOf(schema, show).replaceAll(/\b(string|number|integer|object|time|UUID)\b(?!`)/g, '$1s')
  return words.includes(' or ') ? `(${words})` : words
}
