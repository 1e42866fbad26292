import type { Context } from '#api/context.ts'
import { type JsonSchema, requestSchema } from '#api/openapi/json_schema.ts'
import { simplify } from '#api/openapi/simplify.ts'
import { callOperation, type Request } from '#api/operations/call_operation.ts'
import type { Access, Operation } from '#api/operations/operation.ts'
import { operations } from '#api/routes/index.ts'

export type Values = Record<string, unknown>

/** Hints of the Model Context Protocol about what a tool does. */
type Hints = { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean }

/** A tool that agents can call. */
export type Tool = {
  name: string
  title: string
  description: string
  hints: Hints
  access: Access
  input: JsonSchema
  /** Says which text of its result is from strangers; null: none. */
  warning: string | null
  run(ctx: Context, values: Values): Promise<unknown>
}

type Declared = {
  name: string
  /** Id of the operation of the API behind it. */
  operation: string
  title: string
  description?: string
  hints: Hints
  /** Parameters and members of the operation that the tool takes; default: all. */
  only?: string[]
  required?: string[]
  warning?: string | null
  /** Further members. */
  more?: Record<string, JsonSchema>
  /** Changes the request that was made from the values; default: leaves it as it is. */
  request?: (request: Request, values: Values, ctx: Context) => Request
}

/** Makes a tool that calls one operation of the API, with its schemas, checks and response. */
export function toolOf({ name, operation: id, title, hints, warning = null, ...declared }: Declared): Tool {
  const one = findOperation(id)
  const { request = same, description = one.description ?? `${one.summary}.` } = declared
  return {
    ...{ name, title, description, hints, warning, access: one.access },
    input: inputOf(one, declared),
    run: (ctx, values) => callOperation(ctx, one, request(requestOf(one, values), values, ctx)),
  }
}

function findOperation(id: string): Operation {
  const found = operations.find(one => one.id === id)
  if (!found) throw new Error(`there is no operation ${id}`)
  return found
}

function same(request: Request): Request {
  return request
}

/** Items per page if none are asked for: operations whose default is all, up to 1,000, would return more than a model can read. */
const PAGE = 20

/** Sorts values into path, query and body. */
function requestOf({ params = {}, query, body }: Operation, values: Values): Request {
  const inQuery = Object.keys(propertiesOf(query && requestSchema(query)))
  const taken = new Set([...Object.keys(params), ...inQuery])
  const rest = Object.entries(values).filter(([name]) => !taken.has(name))
  return {
    params: textsOf(Object.keys(params), values),
    query: { ...(inQuery.includes('limit') ? { limit: `${PAGE}` } : {}), ...textsOf(inQuery, values) },
    ...(body ? { body: Object.fromEntries(rest) } : {}),
  }
}

function textsOf(names: string[], values: Values): Record<string, string> {
  const given = names.filter(name => values[name] !== undefined && values[name] !== null)
  return Object.fromEntries(given.map(name => [name, String(values[name])]))
}

type Properties = Record<string, JsonSchema>

function propertiesOf(schema: JsonSchema | undefined): Properties {
  return (schema?.properties ?? {}) as Properties
}

/** Returns one schema of an object with everything that a tool takes. */
function inputOf(
  { params = {}, query, body }: Operation,
  { only, required, more = {} }: Partial<Declared>,
): JsonSchema {
  const given = body ? resolve(simplify(requestSchema(body.schema))) : {}
  const asked = query ? simplify(requestSchema(query)) : {}
  const ids = Object.entries(params).map(([name, { description }]) => [name, { type: 'string', description }])
  const all: Properties = { ...Object.fromEntries(ids), ...propertiesOf(asked), ...propertiesOf(given), ...more }
  if (all.limit) all.limit = { ...all.limit, description: `Number of items per page. Default: ${PAGE}.` }
  const names = Object.keys(all).filter(name => !only || only.includes(name) || name in more)
  const needed = [
    ...Object.keys(params),
    ...((asked.required ?? []) as string[]),
    ...((given.required ?? []) as string[]),
  ]
  const properties = Object.fromEntries(names.map(name => [name, all[name]]))
  const $defs = usedBy(properties, (given.$defs ?? {}) as Properties)
  return {
    type: 'object',
    properties,
    required: [...new Set([...needed.filter(name => names.includes(name)), ...(required ?? [])])],
    ...(Object.keys($defs).length > 0 ? { $defs } : {}),
  }
}

/** Returns the definitions that a schema refers to: a model reads all of them. */
function usedBy(schema: JsonSchema, defs: Properties, used: Properties = {}): Properties {
  for (const [, name = ''] of JSON.stringify(schema).matchAll(/"#\/\$defs\/(\w+)"/g)) {
    const found = defs[name]
    if (!found || used[name]) continue
    used[name] = found
    usedBy(found, defs, used)
  }
  return used
}

/** Resolves the schema of a named body: a reference to its definition, or `anyOf` such a reference and null. */
function resolve(schema: JsonSchema): JsonSchema {
  const { $defs = {}, $ref, anyOf } = schema as { $defs?: Properties; $ref?: string; anyOf?: JsonSchema[] }
  const ref = $ref ?? (anyOf?.[0]?.$ref as string | undefined)
  const found = ref === undefined ? undefined : $defs[ref.replace('#/$defs/', '')]
  return found ? { ...found, $defs } : schema
}
