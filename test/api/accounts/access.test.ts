import t from 'tap'
import { request } from 'undici'
import { resources } from '#api/app.ts'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { generateApiKey, hashApiKey } from '#lib/api_key.ts'
import { revokeApiKey } from '#sql/accounts/api_keys.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

/** Who may call each route, by the spec: a new one must be added here. */
const access: Record<string, 'sending' | 'full' | 'dashboard'> = {
  'POST /emails': 'sending',
  'POST /emails/batch': 'sending',
  'GET /emails': 'full',
  'GET /emails/:id': 'full',
  'PATCH /emails/:id': 'full',
  'POST /emails/:id/cancel': 'full',
  'GET /emails/:id/attachments': 'full',
  'GET /emails/:id/attachments/:attachment_id': 'full',
  'GET /emails/:id/attachments/:attachment_id/content': 'full',
  'GET /emails/receiving': 'full',
  'GET /emails/receiving/:id': 'full',
  'PATCH /emails/receiving/:id': 'full',
  'DELETE /emails/receiving/:id': 'full',
  'GET /emails/receiving/:id/raw': 'full',
  'GET /emails/receiving/:id/attachments': 'full',
  'GET /emails/receiving/:id/attachments/:attachment_id': 'full',
  'POST /emails/receiving/:id/reply': 'full',
  'POST /emails/receiving/:id/forward': 'full',
  'POST /domains/claim': 'full',
  'GET /domains/:id/claim': 'full',
  'POST /domains/:id/claim/verify': 'full',
  'POST /domains': 'full',
  'GET /domains': 'full',
  'GET /domains/mx-check': 'full',
  'GET /domains/:id': 'full',
  'PATCH /domains/:id': 'full',
  'DELETE /domains/:id': 'full',
  'GET /domains/:id/dns': 'full',
  'GET /domains/:id/dns/export': 'full',
  'POST /domains/:id/dns/cloudflare': 'full',
  'POST /domains/:id/dns/godaddy': 'full',
  'POST /domains/:id/dns/namecheap': 'full',
  'POST /domains/:id/verify': 'full',
  'POST /domains/:id/dkim/rotate': 'full',
  'POST /suppressions': 'full',
  'POST /suppressions/batch/add': 'full',
  'POST /suppressions/batch/remove': 'full',
  'GET /suppressions': 'full',
  'GET /suppressions/:id': 'full',
  'DELETE /suppressions/:id': 'full',
  'POST /webhooks': 'full',
  'GET /webhooks': 'full',
  'GET /webhooks/:id': 'full',
  'PATCH /webhooks/:id': 'full',
  'DELETE /webhooks/:id': 'full',
  'POST /webhooks/:id/signing-secret/rotate': 'full',
  'POST /webhooks/:id/rotate': 'full',
  'POST /webhooks/:id/test': 'full',
  'GET /webhooks/:id/events': 'full',
  'GET /webhooks/:id/events/:event_id': 'full',
  'GET /webhooks/:id/events/:event_id/attempts': 'full',
  'POST /webhooks/:id/events/:event_id/replay': 'full',
  'POST /webhooks/:id/replay': 'full',
  'POST /templates': 'full',
  'GET /templates': 'full',
  'GET /templates/:id': 'full',
  'PATCH /templates/:id': 'full',
  'DELETE /templates/:id': 'full',
  'POST /templates/:id/publish': 'full',
  'POST /templates/:id/duplicate': 'full',
  'GET /usage': 'full',
  'GET /logs': 'full',
  'GET /logs/:id': 'full',
  'GET /api-keys': 'full',
  'POST /api-keys': 'dashboard',
  'PUT /api-keys/:id': 'dashboard',
  'PATCH /api-keys/:id': 'dashboard',
  'DELETE /api-keys/:id': 'dashboard',
}

t.test('every route is listed with who may call it', async t => {
  const layers = resources.flatMap(resource => resource.stack)
  const routes = layers.flatMap(({ path, methods }) => methods.map(method => `${method} ${path}`))
  t.strictSame(Object.keys(access).sort(), routes.filter(route => !route.startsWith('HEAD ')).sort())
})

/** Answers what is told about the key, null when the request got further than that. */
async function refusal(route: string, key: string | null): Promise<string | null> {
  const [method = '', path = ''] = route.split(' ')
  const { status, body } = await api.request(method, `/api${path.replace(/:\w+/g, '0')}`, { key })
  return /key|dashboard/.test(body.name) ? `${status} ${body.name}` : null
}

for (const [route, who] of Object.entries(access)) {
  t.test(`${route} is for ${who === 'dashboard' ? 'no key' : `keys of ${who} access`}`, async t => {
    t.equal(await refusal(route, null), '401 missing_api_key')
    t.equal(await refusal(route, generateApiKey()), '403 invalid_api_key')
    t.equal(await refusal(route, account.key), who === 'dashboard' ? '403 dashboard_only' : null)
    const ofSending = { sending: null, full: '401 restricted_api_key', dashboard: '403 dashboard_only' }
    t.equal(await refusal(route, account.sending_key), ofSending[who])
  })
}

t.test('no route looks at a request before its User-Agent, its one header and its key', async t => {
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

t.test('the name of the scheme may be written in any case, for every route', async t => {
  for (const [route, who] of Object.entries(access).filter(([, who]) => who !== 'dashboard')) {
    const [method = '', path = ''] = route.split(' ')
    const headers = { 'user-agent': 'test', authorization: `bEARER ${account.key}` }
    const { statusCode, body } = await request(`${api.url}/api${path.replace(/:\w+/g, '0')}`, { method, headers })
    await body.dump()
    t.ok(![401, 403].includes(statusCode), `${route}, for ${who}: ${statusCode}`)
  }
})
