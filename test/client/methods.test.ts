import t from 'tap'
import { operations } from '#api/routes/index.ts'
import { Mailbrook } from '#client/source/index.ts'
import { argumentsFor, listMethods } from '#test/support/client/methods.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'

const requested: string[] = []
const port = await startServer(t, (request, response) => {
  requested.push(`${request.method} ${request.url}`)
  response.setHeader('content-type', 'application/json')
  response.end('{"object":"list","has_more":false,"data":[]}')
})
const baseUrl = `http://${ALLOWED}:${port}`
const client = new Mailbrook({ apiKey: 'mb_1', baseUrl })

t.test('each operation for API keys has one method, and each method an operation', async t => {
  const wanted = operations
    .filter(({ access }) => access !== 'dashboard')
    .map(({ method, path }) => `${method} /api${path.replaceAll(/:\w+/g, 'ID')}`)
  for (const [name, { method, unbound }] of listMethods(client)) {
    const before = requested.length
    await method(...argumentsFor(unbound))
    t.equal(requested.length, before + 1, name)
  }
  t.strictSame([...requested].sort(), wanted.sort())
  t.ok(wanted.length > 150, `${wanted.length} operations`)
})
