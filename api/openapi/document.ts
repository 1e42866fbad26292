import { z } from 'zod'
import type { Bytes } from '#api/operations/answers.ts'
import type { Body } from '#api/operations/bodies.ts'
import type { Header, Operation } from '#api/operations/operation.ts'
import type { Resource } from '#api/routes/index.ts'
import { type ErrorName, statusOf } from '#lib/errors.ts'
import manifest from '#package.json' with { type: 'json' }
import { Components } from './components.ts'
import { errorsOf } from './errors.ts'
import { answerSchema, type JsonSchema, requestSchema } from './json_schema.ts'

type Document = Record<string, unknown> & { paths: Record<string, Record<string, unknown>> }

const HEADERS: Record<Header, JsonSchema> = {
  'Idempotency-Key': {
    description: 'A request that is repeated with the same key and body within 24 hours gets the first answer.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  'X-Batch-Validation': {
    description: 'Whether one wrong email refuses the whole batch.',
    schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
  },
}

/** Describes the API (OpenAPI 3.1) by the schemas that check requests and, in tests, answers. */
export function createDocument(resources: Resource[], base_url: string): Document {
  const paths: Document['paths'] = {}
  const components = new Components()
  components.add(open(answerSchema(ErrorAnswer)))
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
    statusCode: z.int(),
    name: z.enum(Object.keys(statusOf) as [ErrorName, ...ErrorName[]]),
    message: z.string(),
  })
  .meta({ id: 'Error' })

/** `n`: which of its paths it is; all but the first are aliases, since ids of operations are unique. */
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
    ...(body ? { requestBody: describeBody(components, body) } : {}),
    responses: { ...answersOf(components, one), ...describeErrors(components, one) },
  }
}

function describeBody(components: Components, { schema, limit }: Body<unknown>): JsonSchema {
  const content = jsonOf(components.add(requestSchema(schema)))
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

function answersOf(components: Components, { answers }: Operation): JsonSchema {
  const described = Object.entries(answers).map(([status, answer]) => [status, describeAnswer(components, answer)])
  return Object.fromEntries(described.filter(([, answer]) => answer !== null))
}

/** Published schemas let members come that they do not name, so that a client survives a later version. */
function describeAnswer(components: Components, answer: z.ZodType | Bytes): JsonSchema | null {
  if (answer instanceof z.ZodNever) return null
  if (answer instanceof z.ZodType) {
    return { description: 'Success', content: jsonOf(components.add(open(answerSchema(answer)))) }
  }
  const { content_type, description } = answer
  return { description, content: { [content_type]: { schema: { type: 'string', format: 'binary' } } } }
}

function open(schema: unknown): JsonSchema {
  const text = JSON.stringify(schema, (key, value) => (key === 'additionalProperties' && !value ? undefined : value))
  return JSON.parse(text)
}

function describeErrors(components: Components, one: Operation): JsonSchema {
  const byStatus = Map.groupBy(errorsOf(one), error => String(error.status))
  return Object.fromEntries(
    [...byStatus].map(([status, errors]) => {
      const names = [...new Set(errors.map(({ name }) => name))]
      const content = jsonOf({ $ref: '#/components/schemas/Error' })
      const response = { description: names.join(', '), 'x-error-names': names, content }
      return [status, components.addResponse([status, ...names].join('-'), response)]
    }),
  )
}

function jsonOf(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } }
}
