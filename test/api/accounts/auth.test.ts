import t from 'tap'
import { request } from 'undici'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { generateApiKey, hashApiKey } from '#lib/api_key.ts'
import { revokeApiKey } from '#sql/accounts/api_keys.ts'
import { startApi } from '#test/support/api.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const missing = { statusCode: 401, name: 'missing_api_key' }
const invalid = { statusCode: 403, name: 'invalid_api_key' }

/** Sends GET /api/emails with exactly these header lines; fetch would add some and join duplicates. */
async function get(...headers: string[]) {
  const { statusCode, body } = await request(`${api.url}/api/emails`, { headers })
  const answer = (await body.json()) as object
  return { statusCode, ...answer }
}

const newKey = (fields: { expires_at: string | null }) =>
  createApiKey(world.pool, world.secrets, {
    account_id: account.id,
    name: 'another',
    permission: 'full_access',
    domain_id: null,
    ...fields,
  })

t.test('the Authorization header has `Bearer` in any case and one key', async t => {
  const { key } = account
  for (const [value, answer] of [
    [`Bearer ${key}`, { statusCode: 200 }],
    [`bearer ${key}`, { statusCode: 200 }],
    [`BEARER   ${key}`, { statusCode: 200 }],
    ['', missing],
    [' ', missing],
    ['Bearer', missing],
    ['Bearer ', missing],
    [' bearer\t', missing],
    [key, invalid],
    [`Basic ${key}`, invalid],
    [`Bearer${key}`, invalid],
    [`Bearer ${key} ${key}`, invalid],
    [`Bearer ${key},Bearer ${key}`, invalid],
    [`Bearer "${key}"`, invalid],
    [`Bearer ${key.toLowerCase()}`, invalid],
    [`Bearer ${key.slice(0, -1)}`, invalid],
    [`Bearer ${key}x`, invalid],
    [`Bearer ${generateApiKey()}`, invalid],
    ['Bearer mb_', invalid],
    [`Bearer ${'x'.repeat(10_000)}`, invalid],
    ["Bearer ' OR true --", invalid],
    ['Bearer \xff\xfe', invalid],
  ] as const) {
    t.match(await get('user-agent', 'x', 'authorization', value), answer, JSON.stringify(value.slice(0, 40)))
  }
})

t.test('no Authorization header is missing_api_key; two are invalid_api_key', async t => {
  const authorization = ['authorization', `Bearer ${account.key}`]
  t.match(await get('user-agent', 'x'), missing)
  t.match(await get('user-agent', 'x', ...authorization, ...authorization), invalid)
  t.match(await get('user-agent', 'x', 'authorization', 'Bearer x', ...authorization), invalid)
})

t.test('a request without a User-Agent is refused', async t => {
  const refused = { statusCode: 403, name: 'validation_error', message: 'Missing `User-Agent` header.' }
  const authorization = ['authorization', `Bearer ${account.key}`]
  t.match(await get(...authorization), refused)
  t.match(await get(...authorization, 'user-agent', ''), refused)
  t.match(await get(...authorization, 'user-agent', '  '), refused)
  t.match(await get(), refused)
  t.match(await get(...authorization, 'user-agent', 'x'), { statusCode: 200 })
})

t.test('a key is accepted until it expires', async t => {
  const now = Date.now()
  const expired = await newKey({ expires_at: new Date(now - 1).toISOString() })
  const current = await newKey({ expires_at: new Date(now + 3_600_000).toISOString() })
  t.match((await api.request('GET', '/api/emails', { key: expired })).body, invalid)
  t.match(await api.request('GET', '/api/emails', { key: current }), { status: 200 })
})

t.test('a key that expires while in use is refused from then on', async t => {
  const expires_at = Date.now() + 700
  const key = await newKey({ expires_at: new Date(expires_at).toISOString() })
  const asked: number[] = []
  const isRefused = async () => {
    const at = Date.now()
    if ((await api.request('GET', '/api/emails', { key })).status !== 200) return true
    asked.push(at)
    return false
  }
  await waitUntil(isRefused, 'the key is refused')
  t.ok(asked.length > 1, 'later requests use the cache')
  t.same(
    asked.filter(at => at >= expires_at),
    [],
  )
})

t.test('a refused key keeps last_used_at null', async t => {
  const keys = [
    await newKey({ expires_at: new Date(Date.now() - 1).toISOString() }),
    await newKey({ expires_at: null }),
  ]
  const hashes = keys.map(key => hashApiKey(key, world.secrets.pepper))
  await revokeApiKey(world.pool, null, hashes[1] as Buffer)
  for (const key of keys) t.match((await api.request('GET', '/api/emails', { key })).body, invalid)
  const { rows } = await world.pool.pg.query('SELECT last_used_at FROM api_keys WHERE hash = ANY ($1)', [hashes])
  t.same(rows, [{ last_used_at: null }, { last_used_at: null }])
})

t.test('a revoked key is refused within 5 seconds, even while in use', async t => {
  const key = await newKey({ expires_at: null })
  const ask = () => api.request('GET', '/api/emails', { key })
  t.match(await ask(), { status: 200 })
  await revokeApiKey(world.pool, null, hashApiKey(key, world.secrets.pepper))

  const revoked = performance.now()
  let accepted = revoked
  const isRefused = async () => {
    const asked = performance.now()
    if ((await ask()).status !== 200) return true
    accepted = asked
    return false
  }
  await waitUntil(isRefused, 'the key is refused')
  // The time is the promise (docs/operating.md). It ends when the request was sent, however late the response.
  t.ok(accepted - revoked < 5_000, `accepted ${Math.round(accepted - revoked)} ms later`)
  t.match((await ask()).body, invalid)
})

t.test('a key that was refused as unknown is accepted once it exists', async t => {
  const key = generateApiKey()
  t.match((await api.request('GET', '/api/emails', { key })).body, invalid)
  await world.pool.pg.query(
    `INSERT INTO api_keys (account_id, id, name, prefix, hash, permission)
     VALUES ($1, gen_random_uuid(), 'late', 'mb_', $2, 'full_access')`,
    [account.id, hashApiKey(key, world.secrets.pepper)],
  )
  t.match(await api.request('GET', '/api/emails', { key }), { status: 200 })
})
