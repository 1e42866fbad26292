import { z } from 'zod'
import type { Body } from '#api/operations/bodies.ts'
import type { Header, Operation } from '#api/operations/operation.ts'
import type { Resource } from '#api/routes/index.ts'
import { type ErrorName, statusOf } from '#lib/errors.ts'
import manifest from '#package.json' with { type: 'json' }
import { Components } from './components.ts'
import { type Examples, examplesOf } from './examples.ts'
import { type JsonSchema, requestSchema } from './json_schema.ts'
import { jsonOf, publishedAnswer, responsesOf } from './responses.ts'

type Document = Record<string, unknown> & { paths: Record<string, Record<string, unknown>> }

const HEADERS: Record<Header, JsonSchema> = {
  'Idempotency-Key': {
    description:
      'If the request is repeated with the same key and body within 24 hours, it gets the first response again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  'X-Batch-Validation': {
    description: '`strict`: an invalid email rejects the whole batch. `permissive`: it is left out.',
    schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
  },
}

/** Describes the API (OpenAPI 3.1) with the schemas that check requests and, in tests, responses. */
export function createDocument(resources: Resource[], base_url: string): Document {
  const paths: Document['paths'] = {}
  const components = new Components()
  publishedAnswer(components, ErrorAnswer)
  for (const { name: tag, operations } of resources) {
    for (const one of operations) {
      for (const [n, path] of [one.path, ...(one.aliases ?? [])].entries()) {
        const shown = path.replaceAll(/:(\w+)/g, '{$1}')
        paths[shown] ??= {}
        paths[shown][one.method.toLowerCase()] = describe(components, one, tag, n)
      }
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Mailbrook',
      version: manifest.version,
      summary: 'Send, receive and manage email.',
    },
    servers: [{ url: `${base_url}/api` }],
    security: [{ apiKey: [] }],
    tags: resources.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `mb_...`' } },
      ...components.all,
    },
  }
}

const ErrorAnswer = z
  .looseObject({
    statusCode: z.int().describe('HTTP status of the response.'),
    name: z.enum(Object.keys(statusOf) as [ErrorName, ...ErrorName[]]).describe('Branch on this.'),
    message: z.string().describe('For people; it may change.'),
  })
  .meta({ id: 'Error' })

/** @param n index of the path among those of the operation; aliases (from 1 on) get another id, since ids are unique */
function describe(components: Components, one: Operation, tag: string, n: number): JsonSchema {
  const { id, summary, description, body } = one
  return {
    operationId: n === 0 ? id : `${id}Alias${n}`,
    ...(n === 0 ? {} : { 'x-alias-of': id }),
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    'x-access': one.access,
    parameters: parametersOf(components, one),
    ...(body ? { requestBody: describeBody(components, body, examplesOf(id).request) } : {}),
    responses: responsesOf(components, one),
  }
}

function describeBody(
  components: Components,
  { schema, form, limit }: Body<unknown>,
  examples: Examples | undefined,
): JsonSchema {
  const content = {
    ...jsonOf(components.add(requestSchema(schema)), examples),
    ...(form ? { 'multipart/form-data': { schema: components.add(requestSchema(form)) } } : {}),
  }
  return { required: !schema.isOptional(), description: `At most ${limit}.`, content }
}

function parametersOf(components: Components, { params, query, headers = [] }: Operation): JsonSchema[] {
  const inPath = Object.entries(params ?? {}).map(([name, { description }]) => ({
    ...{ name, in: 'path', required: true, description },
    schema: { type: 'string' },
  }))
  const { properties = {}, required = [] } = query ? (components.add(requestSchema(query)) as Properties) : {}
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    ...{ name, in: 'query', required: required.includes(name), schema },
    ...(description ? { description } : {}),
  }))
  return [...inPath, ...inQuery, ...headers.map(name => ({ name, in: 'header', ...HEADERS[name] }))]
}

type Properties = { properties?: Record<string, JsonSchema>; required?: string[] }
