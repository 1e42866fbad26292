import t from 'tap'
import { resources } from '../../api/app.ts'
import { generateApiKey } from '../../lib/api_key.ts'
import { startApi } from '../api.ts'
import { newAccount, openWorld } from '../world.ts'

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
  'POST /templates': 'full',
  'GET /templates': 'full',
  'GET /templates/:id': 'full',
  'PATCH /templates/:id': 'full',
  'DELETE /templates/:id': 'full',
  'POST /templates/:id/publish': 'full',
  'POST /templates/:id/duplicate': 'full',
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
