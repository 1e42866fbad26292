import { type Content, type Operation, openDocument, type Parameter } from '../api_document.ts'
import { nameOf, type Schema } from '../api_schemas.ts'
import groups from './methods.json' with { type: 'json' }

/** A method of the client, as its code and its documentation need it. */
export type Method = {
  /** `contacts.imports` */
  resource: string
  name: string
  operation_id: string
  summary: string
  description: string | undefined
  http_method: string
  /** `/emails/{id}` */
  path: string
  /** The parameters of the path, in order. */
  ids: Parameter[]
  query: Parameter[]
  /** The types of the body; null if the method takes none. */
  body: { type: string; form: string | null; is_required: boolean } | null
  /** True if it takes an idempotency key. */
  is_keyed: boolean
  has_batch_validation: boolean
  answer: Answer
}

/** `type`: the type of the record, or of the items of the page. `object`: that of the record. */
export type Answer =
  | { kind: 'record'; type: string; object: string | undefined }
  | { kind: 'page'; type: string }
  | { kind: 'file' }

type Found = { resource: string; name: string; path: string; http_method: string; one: Operation }

/** Reads the methods of the client from the OpenAPI document, with the names in methods.json. */
export function readMethods(): Method[] {
  const document = openDocument()
  const operations = new Map<string, { path: string; http_method: string; one: Operation }>()
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [http_method, one] of Object.entries(methods)) {
      // API keys cannot call operations of the dashboard.
      if (one['x-alias-of'] || one['x-access'] === 'dashboard') continue
      operations.set(one.operationId, { path, http_method: http_method.toUpperCase(), one })
    }
  }
  const named = Object.entries(groups as Record<string, Record<string, string>>).flatMap(([resource, names]) =>
    Object.entries(names).map(([name, operation_id]) => ({ resource, name, operation_id })),
  )
  const methods = named.map(({ resource, name, operation_id }) => {
    const found = operations.get(operation_id)
    if (!found) throw new Error(`methods.json names the operation ${operation_id}, which no API key may call`)
    operations.delete(operation_id)
    return describe({ resource, name, ...found }, document.components.schemas)
  })
  if (operations.size > 0) throw new Error(`methods.json names no method for ${[...operations.keys()].join(', ')}`)
  return methods
}

function describe(found: Found, schemas: Record<string, Schema>): Method {
  const { resource, name, http_method, path, one } = found
  const { parameters, requestBody } = one
  const headers = parameters.filter(parameter => parameter.in === 'header').map(parameter => parameter.name)
  const content = requestBody?.content
  const answer = answerOf(one, schemas)
  return {
    ...{ resource, name, operation_id: one.operationId, http_method, path },
    ...{ summary: one.summary, description: one.description },
    ids: parameters.filter(parameter => parameter.in === 'path'),
    query: parameters.filter(
      parameter => parameter.in === 'query' && !(answer.kind === 'page' && parameter.name === 'format'),
    ),
    body: content
      ? {
          ...{ type: typeIn(content, 'application/json'), is_required: requestBody.required },
          form: 'multipart/form-data' in content ? typeIn(content, 'multipart/form-data') : null,
        }
      : null,
    is_keyed: headers.includes('Idempotency-Key'),
    has_batch_validation: headers.includes('X-Batch-Validation'),
    answer,
  }
}

function typeIn(content: Content, media_type: string): string {
  return nameOf(content[media_type]?.schema.$ref as string)
}

/** A list in pages may also be available as a file, with the query parameter `format`; the client reads the pages. */
function answerOf({ responses, parameters }: Operation, schemas: Record<string, Schema>): Answer {
  const found = Object.entries(responses).find(([status]) => status.startsWith('2'))
  const json = found?.[1].content?.['application/json']
  if (!json) return { kind: 'file' }
  const type = nameOf(json.schema.$ref as string)
  const isPage = parameters.some(({ name }) => name === 'after')
  if (isPage) return { kind: 'page', type: itemOf(schemas[type]) }
  return { kind: 'record', type, object: schemas[type]?.properties?.object?.const as string | undefined }
}

function itemOf(list: Schema | undefined): string {
  return nameOf(list?.properties?.data?.items?.$ref as string)
}
