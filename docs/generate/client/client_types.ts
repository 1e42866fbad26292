import { openDocument } from '../api_document.ts'
import { nameOf, type Schema } from '../api_schemas.ts'
import { GENERATED_CODE } from './generated_code.ts'
import { type Method, readMethods } from './read_methods.ts'
import { commentText, type Side, typeText } from './type_text.ts'

/** Generates the types of the requests and responses of the API. */
export function clientTypes(): string {
  const { schemas } = openDocument().components
  const methods = readMethods()
  const returned = reachableFrom(
    methods.flatMap(({ answer }) => ('type' in answer ? [answer.type] : [])),
    schemas,
  )
  const given = reachableFrom(
    methods.flatMap(({ body }) => (body ? [body.type, body.form ?? body.type] : [])),
    schemas,
  )
  const sideOf = (name: string): Side => (returned.has(name) && !given.has(name) ? 'response' : 'request')
  const records = Object.entries(schemas)
    .filter(([name]) => returned.has(name) || given.has(name))
    .map(([name, schema]) =>
      [...commentText(schema.description, ''), `export type ${name} = ${typeText(schema, sideOf(name))}`].join('\n'),
    )
  const names = schemas.Error?.properties?.name?.enum as string[]
  const errors = `/** Names of the errors that the API responds with. */\nexport type ErrorName = ${typeText({ enum: names }, 'request')}`
  return `${[GENERATED_CODE, errors, ...records, ...methods.flatMap(queryType)].join('\n\n')}\n`
}

/** Returns the name of the type of a method's query parameters, or null if it has none. */
export function queryTypeOf({ query, operation_id }: Method): string | null {
  return query.length > 0 ? `${operation_id.replace(/^./, letter => letter.toUpperCase())}Query` : null
}

function queryType(method: Method): string[] {
  const name = queryTypeOf(method)
  if (!name) return []
  const lines = method.query.flatMap(({ name, required, description, schema }) => {
    const text = typeText(schema, 'request')
    const isList = description.includes('separated by commas')
    const isTime = /_(after|before|date)$/.test(name)
    const type = isList ? `${text} | string[]` : isTime ? `${text} | Date` : text
    return [...commentText(description, '  '), `  ${name}${required ? '' : '?'}: ${type}`]
  })
  return [[`export type ${name} = {`, ...lines, '}'].join('\n')]
}

/** Returns these names of schemas, and those of all schemas that they refer to. */
function reachableFrom(names: string[], schemas: Record<string, Schema>): Set<string> {
  const reached = new Set<string>()
  const visit = (name: string) => {
    if (reached.has(name)) return
    reached.add(name)
    for (const [, reference] of JSON.stringify(schemas[name]).matchAll(/"\$ref":"([^"]+)"/g))
      visit(nameOf(reference as string))
  }
  for (const name of names) visit(name)
  return reached
}
