import { createDocument } from '#api/openapi/document.ts'
import { resources } from '#api/routes/index.ts'
import type { ErrorName } from '#lib/errors.ts'
import { nameOf, type Schema } from './api_schemas.ts'

export type Parameter = { name: string; in: string; required: boolean; description: string; schema: Schema }
export type Content = Record<string, { schema: Schema }>
type Response = { $ref?: string; description: string; content?: Content; 'x-error-names'?: ErrorName[] }
export type Operation = {
  'x-alias-of'?: string
  'x-access': 'full' | 'sending' | 'dashboard'
  operationId: string
  tags: string[]
  summary: string
  description?: string
  parameters: Parameter[]
  requestBody?: { required: boolean; description: string; content: Content }
  responses: Record<string, Response>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  tags: { name: string; description: string }[]
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> }
}

/** An operation as docs/api.md shows it. `schema` is the name of a schema; null for a response that is not JSON. */
export type Route = Omit<Operation, 'requestBody' | 'responses'> & {
  route: string
  body: { schema: string; limit: string; required: boolean } | null
  answers: { status: string; schema: string | null; description: string }[]
  errors: ErrorName[]
}

/** Returns the OpenAPI document for a server at localhost. */
export function openDocument(): Document {
  return createDocument(resources, 'http://localhost:3000') as unknown as Document
}

/** Reads the routes, tags and schemas of the OpenAPI document. */
export function readDocument() {
  const { paths, tags, components } = openDocument()
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) =>
      routeOf(`${method.toUpperCase()} ${path}`, one, components.responses),
    ),
  )
  return { routes, tags, schemas: components.schemas }
}

function routeOf(route: string, one: Operation, shared: Record<string, Response>): Route {
  const { requestBody, responses, ...rest } = one
  const schema = requestBody && schemaOf(requestBody.content)
  const all = Object.entries(responses).map(([status, response]) => ({
    status,
    ...(response.$ref ? (shared[nameOf(response.$ref)] as Response) : response),
  }))
  return {
    ...rest,
    route: route.replaceAll(/\{(\w+)\}/g, ':$1'),
    body: schema ? { schema, limit: requestBody.description, required: requestBody.required } : null,
    answers: all
      .filter(({ 'x-error-names': names }) => !names)
      .map(({ status, description, content }) => ({ status, description, schema: schemaOf(content ?? {}) })),
    errors: [...new Set(all.flatMap(({ 'x-error-names': names = [] }) => names))],
  }
}

function schemaOf(content: Content): string | null {
  const { $ref } = content['application/json']?.schema ?? {}
  return $ref ? nameOf($ref) : null
}
