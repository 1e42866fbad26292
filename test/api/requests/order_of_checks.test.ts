import t from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { type RequestOptions, startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { SENDS_PER_MINUTE: '30', TRUSTED_PROXIES: '127.0.0.1' })
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }
const bound = { 'idempotency-key': 'bound' }
const limited = { 'x-forwarded-for': '192.0.2.1' }

t.before(async () => {
  await api.request('POST', '/api/emails', { body: email, headers: bound })
  for (let n = 0; n < 30; n++) await api.request('POST', '/api/emails', { headers: limited })
})

type Fault = { what: string; put(options: RequestOptions): RequestOptions; answer: Record<string, unknown> }

const withHeaders = (headers: Record<string, string>) => (options: RequestOptions) => ({
  ...options,
  headers: { ...options.headers, ...headers },
})
const withFields = (fields: Record<string, unknown>) => (options: RequestOptions) => ({
  ...options,
  body: { ...(options.body as object), ...fields },
})

/** Faults in the order in which they are reported. A request with one fault and all later ones is refused for the first. */
const faults: Fault[] = [
  {
    what: 'the User-Agent',
    put: withHeaders({ 'user-agent': '' }),
    answer: { statusCode: 403, name: 'validation_error', message: /User-Agent/ },
  },
  {
    what: 'the presence of a key',
    put: options => ({ ...options, key: null }),
    answer: { statusCode: 401, name: 'missing_api_key' },
  },
  {
    what: 'the key',
    put: options => ({ ...options, key: 'mb_nonsense' }),
    answer: { statusCode: 403, name: 'invalid_api_key' },
  },
  {
    what: 'how often the client sends',
    put: withHeaders(limited),
    answer: { statusCode: 429, name: 'rate_limit_exceeded' },
  },
  {
    what: 'the body’s encoding',
    put: withHeaders({ 'content-encoding': 'br' }),
    answer: { statusCode: 422, name: 'validation_error', message: /Content-Encoding/ },
  },
  {
    what: 'a required field',
    put: withFields({ to: undefined }),
    answer: { statusCode: 422, name: 'missing_required_field' },
  },
  { what: 'an address', put: withFields({ to: ['bob'] }), answer: { statusCode: 422, name: 'invalid_to_address' } },
  {
    what: 'the form of the Idempotency-Key',
    put: withHeaders({ 'idempotency-key': 'é' }),
    answer: { statusCode: 400, name: 'invalid_idempotency_key' },
  },
  {
    what: 'what the Idempotency-Key is bound to',
    put: withHeaders(bound),
    answer: { statusCode: 409, name: 'invalid_idempotent_request' },
  },
  {
    what: 'the template',
    put: withFields({ template_id: 'unknown', html: null }),
    answer: { statusCode: 404, name: 'not_found', message: 'Template not found' },
  },
  {
    what: 'the sender’s domain',
    put: withFields({ from: 'ann@not-mine.com' }),
    answer: { statusCode: 422, name: 'validation_error', message: /not-mine\.com domain is not verified/ },
  },
  {
    what: 'the recipients, all dropped',
    put: withFields({ to: ['bob@example.org'] }),
    answer: { statusCode: 422, name: 'validation_error', message: /suppressed/ },
  },
]

faults.forEach(({ what, answer }, from) => {
  const next = faults[from + 1]?.what
  t.test(`a fault of ${what} is reported ${next ? `before one of ${next}` : 'last'}`, async t => {
    const start: RequestOptions = { body: email }
    const options = faults.slice(from).reduceRight((options, fault) => fault.put(options), start)
    t.match((await api.request('POST', '/api/emails', options)).body, answer)
  })
})

t.test('a sending key gets 401 on all other routes, even unknown ones', async t => {
  for (const [method, path] of [
    ['GET', '/api/emails?limit=0'],
    ['GET', '/api/emails/not-an-id'],
    ['GET', '/api/api-keys'],
    ['GET', '/api/nothing'],
    ['POST', '/api/nothing'],
    ['GET', '/api'],
    ['PATCH', '/api/emails'],
  ] as const) {
    const { body } = await api.request(method, path, { key: account.sending_key })
    t.match(body, { statusCode: 401, name: 'restricted_api_key' }, `${method} ${path}`)
  }
})

t.test('a dashboard route responds 403 dashboard_only to every key before other checks', async t => {
  for (const key of [account.key, account.sending_key]) {
    const { body } = await api.request('PATCH', '/api/api-keys/not-an-id', { key, raw: '{' })
    t.match(body, { statusCode: 403, name: 'dashboard_only' })
  }
})

t.test('an unknown route is 404 before its body is read', async t => {
  t.match((await api.request('POST', '/api/nothing', { raw: '{' })).body, { statusCode: 404, name: 'not_found' })
})

t.test('a domain that a key is restricted to is checked after its Idempotency-Key', async t => {
  const party = { account_id: account.id, domain_id: account.domain_id, expires_at: null }
  const key = await createApiKey(world.pool, world.secrets, { ...party, name: 'one', permission: 'sending_access' })
  const body = { ...email, from: 'ann@not-mine.com' }
  t.match((await api.request('POST', '/api/emails', { key, body, headers: bound })).body, { statusCode: 409 })
})
