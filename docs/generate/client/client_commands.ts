import { openDocument } from '../api_document.ts'
import { nameOf, type Schema } from '../api_schemas.ts'
import { GENERATED_CODE } from './generated_code.ts'
import { type Method, readMethods } from './read_methods.ts'

/** An option of a command: the shape of `Option` in client/cli/command.ts. */
type Option = { name: string; type: string; description: string; values?: string[]; required?: true }

/** Generates a description of a command for each method of the client. The command line reads them when it starts. */
export function clientCommands(): string {
  const { schemas } = openDocument().components
  const commands = readMethods().map(method => commandOf(method, schemas))
  const head = "import type { Operation } from '../operation.ts'"
  const lines = commands.map(command => `  ${JSON.stringify(command)},`)
  return `${GENERATED_CODE}\n\n${head}\n\nexport const OPERATIONS: Operation[] = [\n${lines.join('\n')}\n]\n`
}

function commandOf(method: Method, schemas: Record<string, Schema>): object {
  const { resource, name, summary, description, http_method, path, ids, query, body, answer, is_keyed } = method
  const fields = body ? fieldsOf(body.form ?? body.type, schemas) : []
  return {
    words: [...resource.split('.'), name].map(kebabCase),
    method: [...resource.split('.'), name],
    route: `${http_method} ${path}`,
    summary,
    ...(description ? { description } : {}),
    ids: ids.map(({ name, description }) => ({ name: kebabCase(name), description })),
    query: query.map(({ name, schema, description, required }) => optionOf(name, { ...schema, description }, required)),
    ...(body ? { body: fields } : {}),
    kind: answer.kind,
    ...(is_keyed ? { is_keyed } : {}),
  }
}

/** Returns the fields of a body as options; none if the body is a list or has several possible schemas. */
function fieldsOf(type: string, schemas: Record<string, Schema>): Option[] {
  const { properties = {}, required = [] } = schemas[type] ?? {}
  return Object.entries(properties)
    .filter(([, schema]) => !schema.not)
    .map(([name, schema]) =>
      optionOf(name, { ...resolve(schema, schemas), description: schema.description ?? '' }, required.includes(name)),
    )
}

function resolve(schema: Schema, schemas: Record<string, Schema>): Schema {
  return schema.$ref ? (schemas[nameOf(schema.$ref)] ?? {}) : schema
}

function optionOf(name: string, schema: Schema, isRequired: boolean): Option {
  const values = (schema.enum ?? []).filter(value => typeof value === 'string')
  return {
    name,
    type: typeOf(schema),
    description: schema.description ?? '',
    ...(values.length > 0 ? { values: values as string[] } : {}),
    ...(isRequired ? { required: true } : {}),
  }
}

/** `list`: strings, one per option. `json`: any value that is not a string, a number or a boolean. */
function typeOf(schema: Schema): string {
  if (schema.format === 'binary') return 'file'
  const choices = schema.anyOf ?? [schema]
  const types = new Set(choices.flatMap(one => one.type ?? 'any'))
  types.delete('null')
  const isTextList = choices.every(one => ![one.type].flat().includes('array') || one.items?.type === 'string')
  if (types.has('array')) return isTextList && !types.has('object') ? 'list' : 'json'
  if (types.size > 1) return 'json'
  const [type = 'any'] = types
  return { string: 'string', integer: 'number', number: 'number', boolean: 'boolean' }[type] ?? 'json'
}

function kebabCase(name: string): string {
  return name.replaceAll('_', '-').replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}
