import t from 'tap'
import { request } from 'undici'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { generateApiKey, hashApiKey } from '#lib/api_key.ts'
import { revokeApiKey } from '#sql/accounts/api_keys.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const access = Object.fromEntries(routesOf(operations).map(({ method, path, access }) => [`${method} ${path}`, access]))

t.test('every route needs a full-access key, except those for sending and the dashboard', async t => {
  const others = Object.entries(access).filter(([, who]) => who !== 'full')
  t.strictSame(Object.fromEntries(others), {
    'POST /emails': 'sending',
    'POST /emails/batch': 'sending',
    'POST /api-keys': 'dashboard',
    'PUT /api-keys/:id': 'dashboard',
    'PATCH /api-keys/:id': 'dashboard',
    'DELETE /api-keys/:id': 'dashboard',
    'GET /members': 'dashboard',
    'POST /members': 'dashboard',
    'PATCH /members/:id': 'dashboard',
    'DELETE /members/:id': 'dashboard',
    'GET /audit-log': 'dashboard',
  })
})

/** Returns the refusal of the key, or null if the request got past authentication. */
async function refusal(route: string, key: string | null): Promise<string | null> {
  const [method = '', path = ''] = route.split(' ')
  const { status, body } = await api.request(method, `/api${path.replace(/:\w+/g, '0')}`, { key })
  return status >= 400 && /key|dashboard/.test(body.name) ? `${status} ${body.name}` : null
}

for (const [route, who] of Object.entries(access)) {
  t.test(`${route} accepts ${who === 'dashboard' ? 'no API key' : `keys with ${who} access`}`, async t => {
    t.equal(await refusal(route, null), '401 missing_api_key')
    t.equal(await refusal(route, generateApiKey()), '403 invalid_api_key')
    t.equal(await refusal(route, account.key), who === 'dashboard' ? '403 dashboard_only' : null)
    const ofSending = { sending: null, full: '401 restricted_api_key', dashboard: '403 dashboard_only' }
    t.equal(await refusal(route, account.sending_key), ofSending[who])
  })
}

t.test('every route checks User-Agent and API key before anything else', async t => {
  const key = { account_id: account.id, name: 'another', permission: 'full_access', domain_id: null } as const
  const expired = await createApiKey(world.pool, world.secrets, { ...key, expires_at: '2020-01-01T00:00:00Z' })
  const revoked = await createApiKey(world.pool, world.secrets, { ...key, expires_at: null })
  await revokeApiKey(world.pool, null, hashApiKey(revoked, world.secrets.pepper))
  const own = ['authorization', `Bearer ${account.key}`]
  const agent = ['user-agent', 'test']
  for (const [what, headers, statusCode, name] of [
    ['without a User-Agent', own, 403, 'validation_error'],
    ['with two keys', [...agent, ...own, ...own], 403, 'invalid_api_key'],
    ['with a key and something else', [...agent, ...own, 'authorization', 'x'], 403, 'invalid_api_key'],
    ['with an expired key', [...agent, 'authorization', `Bearer ${expired}`], 403, 'invalid_api_key'],
    ['with a revoked key', [...agent, 'authorization', `bearer ${revoked}`], 403, 'invalid_api_key'],
    ['with a key in the query', agent, 401, 'missing_api_key'],
  ] as const) {
    for (const route of Object.keys(access)) {
      const [method = '', path = ''] = route.split(' ')
      const url = `${api.url}/api${path.replace(/:\w+/g, '0')}?api_key=${account.key}`
      const answer = await request(url, { method, headers: [...headers] })
      t.match(
        { ...((await answer.body.json()) as object), statusCode: answer.statusCode },
        { statusCode, name },
        `${route} ${what}`,
      )
    }
  }
})

t.test('every route accepts the Bearer scheme in any case', async t => {
  for (const [route, who] of Object.entries(access).filter(([, who]) => who !== 'dashboard')) {
    const [method = '', path = ''] = route.split(' ')
    const headers = { 'user-agent': 'test', authorization: `bEARER ${account.key}` }
    const { statusCode, body } = await request(`${api.url}/api${path.replace(/:\w+/g, '0')}`, { method, headers })
    await body.dump()
    t.ok(![401, 403].includes(statusCode), `${route}, for ${who}: ${statusCode}`)
  }
})
