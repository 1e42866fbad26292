import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { Components } from '#api/openapi/components.ts'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { statusOf } from '#lib/errors.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

type Json = Record<string, unknown>
type Described = {
  operationId: string
  parameters: { name: string; in: string; description?: string; schema: object }[]
  requestBody?: { content: Json }
  responses: Record<string, { $ref?: string; content?: Json; 'x-error-names'?: string[] }>
}
type Named = { schemas: Record<string, Json>; responses: Record<string, { 'x-error-names'?: string[] }> }
type Document = { openapi: string; components: Named; paths: Record<string, Record<string, Described>> }

const operationsOf = ({ paths }: Document) => Object.values(paths).flatMap(methods => Object.values(methods))
const refersTo = (ref: string) => ref.split('/').at(-1) as string

const read = async (headers: Record<string, string> = {}) => {
  const answer = await api.request('GET', '/api/openapi.json', { key: null, headers })
  return { ...answer, body: answer.body as unknown as Document }
}

t.test('GET /api/openapi.json needs no key and is cached by its ETag', async t => {
  const { status, headers, body } = await read()
  t.equal(status, 200)
  t.equal(body.openapi, '3.1.1')
  const etag = headers.get('etag') as string
  const again = await fetch(`${api.url}/api/openapi.json`, {
    headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
  })
  t.equal(again.status, 304)
  t.equal(await again.text(), '')
})

t.test('the document describes exactly the routes of the router', async t => {
  const { paths } = (await read()).body
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  )
  t.strictSame(
    described.sort(),
    routesOf(operations)
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  )
})

t.test('operation ids are unique, and every path parameter is described', async t => {
  const { paths } = (await read()).body
  const all = Object.entries(paths).flatMap(([path, methods]) => Object.values(methods).map(one => ({ path, ...one })))
  t.equal(new Set(all.map(({ operationId }) => operationId)).size, all.length)
  for (const { path, operationId, parameters } of all) {
    const named = parameters.filter(one => one.in === 'path').map(({ name }) => `{${name}}`)
    t.strictSame(named, path.match(/\{\w+\}/g) ?? [], operationId)
  }
})

t.test('every schema is valid and not empty', async t => {
  const { components, paths } = (await read()).body
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', components })
  for (const name of Object.keys(components.schemas)) {
    t.doesNotThrow(() => ajv.compile({ $ref: `document#/components/schemas/${name}` }), name)
  }
  const empty: string[] = []
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value) && Object.keys(value).length === 0) empty.push(place)
    for (const [key, member] of Object.entries(value)) {
      if (key === 'schema' && !member.$ref) t.doesNotThrow(() => ajv.compile(member), place)
      walk(member, `${place}/${key}`)
    }
  }
  walk({ paths, components }, '')
  const last = empty.map(place => place.split('/').at(-1))
  t.strictSame([...new Set(last)].sort(), ['additionalProperties', 'not'])
})

t.test('every JSON body is a named schema, and every named schema is used', async t => {
  const { body } = await read()
  for (const { operationId, requestBody, responses } of operationsOf(body)) {
    for (const { content } of [requestBody ?? {}, ...Object.values(responses)]) {
      const { schema } = (content?.['application/json'] ?? {}) as { schema?: Json }
      if (schema) t.strictSame(Object.keys(schema), ['$ref'], operationId)
    }
  }
  const names = Array.from(JSON.stringify(body).matchAll(/"\$ref":"([^"]+)"/g), ([, ref]) => refersTo(ref as string))
  const { schemas, responses } = body.components
  t.strictSame([...new Set(names)].sort(), [...Object.keys(schemas), ...Object.keys(responses)].sort())
  for (const name of Object.keys(schemas)) t.match(name, /^(?:[A-Z][a-z]+)+$/)
})

type Schema = Json & { properties?: Record<string, Schema>; items?: Schema; anyOf?: Schema[] }

/** Members that need no description, because they mean the same in every record. */
const PLAIN = new Set(['created_at', 'deleted', 'id', 'object', 'updated_at'])

t.test('every member of a body and every parameter has a description', async t => {
  const { body } = await read()
  const undescribed: string[] = []
  const isPlain = (text: unknown) => typeof text === 'string' && /^[A-Z0-9`].*[.]$/.test(text)
  const walk = ({ properties = {}, items, anyOf = [] }: Schema, place: string): void => {
    for (const [name, member] of Object.entries(properties)) {
      if (!PLAIN.has(name) && !isPlain(member.description)) undescribed.push(`${place} ${name}`)
    }
    for (const member of [...Object.values(properties), ...anyOf, ...(items ? [items] : [])]) walk(member, place)
  }
  for (const [name, schema] of Object.entries(body.components.schemas)) walk(schema as Schema, name)
  for (const { operationId, parameters } of operationsOf(body)) {
    for (const { name, description } of parameters)
      if (!isPlain(description)) undescribed.push(`${operationId} ${name}`)
  }
  t.strictSame(undescribed, [])
})

t.test('two different schemas cannot have the same name', t => {
  const components = new Components()
  const list = { $ref: '#/$defs/List', $defs: { List: { type: 'array' } } }
  t.strictSame(components.add(list), { $ref: '#/components/schemas/List' })
  components.add(list)
  t.throws(() => components.add({ ...list, $defs: { List: { type: 'object' } } }), /two schemas have the name List/)
  t.strictSame(components.all.schemas, list.$defs)
  t.end()
})

t.test('every error name in the document exists in the API, with its status', async t => {
  const { body } = await read()
  for (const { operationId, responses } of operationsOf(body)) {
    for (const [status, { $ref, ...response }] of Object.entries(responses)) {
      const { 'x-error-names': names = [] } = $ref ? (body.components.responses[refersTo($ref)] ?? {}) : response
      t.equal(names.length > 0, Number(status) >= 400, `${operationId} ${status}`)
      for (const name of names) {
        const isUsual = statusOf[name as keyof typeof statusOf] === Number(status)
        const isOther = ['403 validation_error', '409 validation_error', '422 batch_incomplete'].includes(
          `${status} ${name}`,
        )
        t.ok(isUsual || isOther, `${operationId} ${status} ${name}`)
      }
    }
  }
})

t.test('generators that name types of members after their record make no name twice', async t => {
  const { schemas } = (await read()).body.components
  // Orval makes EmailTemplateId of `template_id` of Email, and would make it of `id` of a record EmailTemplate as well.
  const names = Object.entries(schemas).flatMap(([record, { properties = {} }]) =>
    Object.entries(properties as Record<string, { $ref?: string }>)
      .filter(([, { $ref }]) => $ref === undefined)
      .map(([member]) => record + member.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())),
  )
  t.ok(names.length > 1_000, `${names.length} members`)
  t.strictSame(
    names.filter((name, n) => names.indexOf(name) !== n),
    [],
  )
})
