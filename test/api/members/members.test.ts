import { userInfo } from 'node:os'
import t from 'tap'
import { routesOf } from '#api/operations/router.ts'
import { operations } from '#api/routes/index.ts'
import { startApi } from '#test/support/api.ts'
import { newMember, sessionOf } from '#test/support/members.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { readCommand } from '#workers/admin/words.ts'

const world = await openWorld(t)
const [mine, theirs] = [await newAccount(world), await newAccount(world)]
const api = await startApi(t, world, mine.key)
const owner = await newMember(world, mine.id, 'owner')
const admin = await newMember(world, mine.id, 'admin')
const viewer = await newMember(world, mine.id, 'view_only')
const stranger = await newMember(world, theirs.id, 'owner')

const topic = (name: string) => ({ name, default_subscription: 'opt_in' })

type Options = { body?: unknown; headers?: Record<string, string> }

/** Sends a request like a page of the dashboard, with the session of a member. */
async function askAs(member: { id: string }, method: string, path: string, { body, headers }: Options = {}) {
  const cookie = `mailbrook=${await sessionOf(world, member.id)}`
  const own = { cookie, 'sec-fetch-site': 'same-origin', ...headers }
  return api.request(method, `/api${path}`, { key: null, headers: own, ...(body === undefined ? {} : { body }) })
}

t.test('a member can read what a full-access key can', async t => {
  for (const member of [owner, admin, viewer]) t.equal((await askAs(member, 'GET', '/emails')).status, 200)
  shows(t, (await askAs(viewer, 'GET', '/domains')).body.data[0], { id: mine.domain_id })
})

t.test('a view-only member gets 403 for every method but GET', async t => {
  const unsafe = routesOf(operations).filter(({ method }) => method !== 'GET')
  for (const { method, path } of [...unsafe, { method: 'POST', path: '/nothing' }]) {
    const { status, body } = await askAs(viewer, method, path.replace(/:\w+/g, '0'), { body: {} })
    t.same([status, body.name], [403, 'view_only_member'], `${method} ${path}`)
  }
})

t.test('a request from another site is refused', async t => {
  const cases: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '', origin: 'https://evil.com' },
    { 'sec-fetch-site': '' },
  ]
  for (const headers of cases) {
    const { status, body } = await askAs(owner, 'POST', '/topics', { body: topic('x'), headers })
    t.same([status, body.name], [403, 'validation_error'])
  }
  const own = { 'sec-fetch-site': '', origin: new URL(world.config.BASE_URL).origin }
  t.equal((await askAs(owner, 'POST', '/topics', { body: topic('By origin'), headers: own })).status, 201)
})

t.test('an API key takes precedence over a session', async t => {
  const cookie = `mailbrook=${await sessionOf(world, viewer.id)}`
  const { status } = await api.request('POST', '/api/topics', { body: topic('By key'), headers: { cookie } })
  t.equal(status, 201)
})

t.test('owners and admins create, change and delete API keys', async t => {
  const { status, body } = await askAs(admin, 'POST', '/api-keys', {
    body: { name: 'new', permission: 'sending_access', domain_id: mine.domain_id },
  })
  t.equal(status, 201)
  const { id, token } = body as typeof body & { token: string }
  t.equal((await api.request('GET', '/api/emails', { key: token })).status, 401)
  const whole = { permission: 'full_access' }
  t.match(
    (await askAs(admin, 'PATCH', `/api-keys/${id}`, { body: whole })).body.message,
    /^`domain_id` limits only keys/,
  )
  t.equal((await askAs(admin, 'PATCH', `/api-keys/${id}`, { body: { ...whole, domain_id: null } })).status, 200)
  const past = { expires_at: '2020-01-01T00:00:00Z' }
  for (const [method, path] of [
    ['POST', '/api-keys'],
    ['PATCH', `/api-keys/${id}`],
  ] as const) {
    const { body } = await askAs(admin, method, path, { body: { name: 'late', ...past } })
    shows(t, body, { statusCode: 422, message: '`expires_at` must be in the future.' })
  }
  t.equal((await askAs(owner, 'DELETE', `/api-keys/${id}`)).status, 200)
  shows(t, await askAs(owner, 'DELETE', `/api-keys/${id}`), { status: 404 })
})

t.test('API keys and members of another account are not found', async t => {
  const { rows } = await world.pool.pg.query('SELECT id FROM api_keys WHERE account_id = $1', [theirs.id])
  for (const [method, path, body] of [
    ['PATCH', `/api-keys/${rows[0].id}`, { name: 'x' }],
    ['PUT', `/api-keys/${rows[0].id}`, { name: 'x' }],
    ['DELETE', `/api-keys/${rows[0].id}`, undefined],
    ['PATCH', `/members/${stranger.id}`, { role: 'admin' }],
    ['DELETE', `/members/${stranger.id}`, undefined],
  ] as const) {
    t.equal((await askAs(owner, method, path, { body })).status, 404, path)
  }
  const { domain_id } = theirs
  for (const scope of [{ default_domain_id: domain_id }, { permission: 'sending_access', domain_id }]) {
    const { body } = await askAs(owner, 'POST', '/api-keys', { body: { name: 'foreign', ...scope } })
    shows(t, body, { statusCode: 404, message: 'Domain not found' })
  }
  const text = (await askAs(owner, 'GET', '/members')).text + (await askAs(owner, 'GET', '/audit-log')).text
  t.notMatch(text, stranger.id)
  t.notMatch(text, theirs.id)
})

t.test('an account keeps its last owner, and only owners change owners', async t => {
  const onlyOwners = 'Only owners can change owners.'
  t.equal((await askAs(admin, 'DELETE', `/members/${owner.id}`)).body.message, onlyOwners)
  t.equal((await askAs(admin, 'PATCH', `/members/${viewer.id}`, { body: { role: 'owner' } })).body.message, onlyOwners)
  const invitation = { email: 'new@acme.com', role: 'owner' }
  t.equal((await askAs(admin, 'POST', '/members', { body: invitation })).body.message, onlyOwners)
  const last = await askAs(owner, 'PATCH', `/members/${owner.id}`, { body: { role: 'admin' } })
  t.equal(last.body.message, 'An account must keep at least one owner.')
  t.equal((await askAs(owner, 'PATCH', `/members/${admin.id}`, { body: { role: 'owner' } })).status, 200)
  t.equal((await askAs(owner, 'PATCH', `/members/${owner.id}`, { body: { role: 'admin' } })).status, 200)
})

t.test('a removed member can no longer access the account', async t => {
  const gone = await newMember(world, mine.id, 'admin')
  const headers = { cookie: `mailbrook=${await sessionOf(world, gone.id)}` }
  const read = () => api.request('GET', '/api/emails', { key: null, headers })
  t.equal((await read()).status, 200)
  t.equal((await askAs(admin, 'DELETE', `/members/${gone.id}`)).status, 200)
  shows(t, await read(), { status: 401, body: { name: 'missing_api_key' } })
})

t.test('GET /audit-log lists who changed what', async t => {
  const account = await newAccount(world)
  const member = await newMember(world, account.id, 'owner')
  const { body } = await askAs(member, 'POST', '/topics', { body: topic('News') })
  await api.request('DELETE', `/api/topics/${body.id}`, { key: account.key })
  await api.request('POST', '/api/contacts', { key: account.key, body: { email: 'a@b.co', domain: account.domain } })
  shows(t, (await askAs(member, 'GET', '/audit-log')).body.data, [
    { actor: 'api_key', actor_name: 'full', action: 'deleteTopic', target: `/topics/${body.id}` },
    { actor: 'member', actor_id: member.id, actor_name: member.email, action: 'createTopic', target: '/topics' },
  ])
})

t.test('the audit log lists operator commands, never with a whole key', async t => {
  const account = await newAccount(world)
  const member = await newMember(world, account.id, 'owner')
  const { rows: named } = await world.pool.pg.query('SELECT name FROM accounts WHERE id = $1', [account.id])
  const printed = t.capture(console, 'log')
  t.capture(console, 'error')
  const run = (...words: string[]) => readCommand(words)(world)
  await run('account', 'pause', account.id, '--reason', 'Unpaid')
  await run('account', 'resume', account.id)
  await run('domain', 'pause', account.domain, '--account', account.id)
  await run('domain', 'transport', account.domain, 'capture', '--account', account.id)
  await run('key', 'create', '--account', account.id, '--name', 'Ours')
  const key = printed.args().at(-1)?.[0] as string
  const { rows } = await world.pool.pg.query(`SELECT id FROM api_keys WHERE account_id = $1 AND name = 'Ours'`, [
    account.id,
  ])
  await run('key', 'revoke', key)
  await run('member', 'reset', member.email)
  await run('account', 'update', account.id, '--add-credits', '1')
  const { body } = await askAs(member, 'GET', '/audit-log')
  const operator = { actor: 'operator', actor_id: null, actor_name: userInfo().username, client_address: null }
  shows(
    t,
    body.data,
    [
      ['account pause', named[0].name],
      ['account resume', named[0].name],
      ['domain pause', account.domain],
      ['domain transport', account.domain],
      ['key create', 'Ours'],
      ['key revoke', rows[0].id],
      ['member reset', member.email],
      ['account update', named[0].name],
    ]
      .map(([action, target]) => ({ ...operator, action, target }))
      .reverse(),
  )
})
