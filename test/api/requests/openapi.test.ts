import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { statusOf } from '#lib/errors.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

type Described = {
  operationId: string
  parameters: { name: string; in: string; schema: object }[]
  responses: Record<string, { 'x-error-names'?: string[] }>
}
type Document = { openapi: string; components: object; paths: Record<string, Record<string, Described>> }

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

t.test('ids of operations are unique, and every parameter of a path is described', async t => {
  const { paths } = (await read()).body
  const all = Object.entries(paths).flatMap(([path, methods]) => Object.values(methods).map(one => ({ path, ...one })))
  t.equal(new Set(all.map(({ operationId }) => operationId)).size, all.length)
  for (const { path, operationId, parameters } of all) {
    const named = parameters.filter(one => one.in === 'path').map(({ name }) => `{${name}}`)
    t.strictSame(named, path.match(/\{\w+\}/g) ?? [], operationId)
  }
})

t.test('every schema is valid and says something', async t => {
  const { body } = await read()
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const empty: string[] = []
  const walk = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value) && Object.keys(value).length === 0) empty.push(place)
    for (const [key, member] of Object.entries(value)) {
      if (key === 'schema') t.doesNotThrow(() => ajv.compile({ ...member, components: body.components }), place)
      walk(member, `${place}/${key}`)
    }
  }
  walk(body.paths, '')
  const last = empty.map(place => place.split('/').at(-1))
  t.strictSame([...new Set(last)].sort(), ['additionalProperties', 'not', 'payload', 'request_body', 'response_body'])
})

t.test('every error name of the document is one of the API, with its status', async t => {
  const { paths } = (await read()).body
  for (const one of Object.values(paths).flatMap(methods => Object.values(methods))) {
    for (const [status, { 'x-error-names': names = [] }] of Object.entries(one.responses)) {
      for (const name of names) {
        const isUsual = statusOf[name as keyof typeof statusOf] === Number(status)
        const isOther = ['403 validation_error', '409 validation_error', '422 batch_incomplete'].includes(
          `${status} ${name}`,
        )
        t.ok(isUsual || isOther, `${one.operationId} ${status} ${name}`)
      }
    }
  }
})
