import t from 'tap'
import { createDomain } from '#flows/domains/create_domain.ts'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import type { DomainStatus } from '#lib/domains/domain_status.ts'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { verify_domain } from '#tasks/verify_domain.ts'
import { type Answer, startApi } from '#test/support/api.ts'
import { givePlan, makeDue, suppress } from '#test/support/database/states.ts'
import { startZone } from '#test/support/dns/name_server.ts'
import { publish } from '#test/support/dns/publish.ts'
import { naughtyStrings } from '#test/support/naughty_strings.ts'
import { acceptEmail, deliverEmails, openWork, readEmail } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const { server, zone } = await startZone(t)
const world = await openWorld(t, { DNS_SERVERS: server, SERVER_DOMAIN: 'mail.server.com' })
const { pool } = world
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)

const add = (body: object, key = account.key) => api.request('POST', '/api/domains', { body, key })
const read = async (id: string) => (await api.request('GET', `/api/domains/${id}`)).body as unknown as PresentedDomain
const change = (id: string, body: unknown) => api.request('PATCH', `/api/domains/${id}`, { body })
const setStatus = (id: string, status: string, is_trusted = false) =>
  pool.run(sql.unsafe`UPDATE domains SET status = ${status}, is_trusted = ${is_trusted} WHERE id = ${id}`)

/** Removes the queued checks of a domain; returns how many there were. */
async function takeJobs(id: string): Promise<number> {
  const { rowCount } = await pool.pg.query(`DELETE FROM graphile_worker._private_jobs WHERE key = $1`, [
    `verify_domain:${id}`,
  ])
  return rowCount ?? 0
}

/** Adds a domain with the given status and no queued check; returns its id. */
async function domainIn(status: DomainStatus, settings: object = {}): Promise<string> {
  const id = newId()
  await addDomain(pool, world.secrets, { account_id: account.id, id, name: `d-${id}.com`, status, ...settings })
  return id
}

const kindsOf = ({ records }: PresentedDomain) => records.map(({ record, type, name }) => `${record} ${type} ${name}`)
const SENDING = [
  'DKIM TXT mb1._domainkey',
  'DKIM TXT mb1e._domainkey',
  'SPF MX send',
  'SPF TXT send',
  'DMARC TXT _dmarc',
]

t.test('a domain is added, published and verified, and then sends', async t => {
  const added = await add({ name: 'Bücher.com' })
  shows(t, added, { status: 201, body: { object: 'domain', name: 'xn--bcher-kva.com', status: 'not_started' } })
  const { id } = added.body
  const send = () =>
    api.request('POST', '/api/emails', { body: { from: 'me@bücher.com', to: ['x@y.com'], subject: 'Hello' } })
  t.match(await send(), { status: 422, body: { name: 'validation_error' } })

  publish(zone, added.body as unknown as PresentedDomain)
  const asked = await api.request('POST', `/api/domains/${id}/verify`)
  shows(t, asked, { status: 200, body: { object: 'domain', id, status: 'pending' } })
  t.equal(await takeJobs(id), 1)
  await verify_domain({ account_id: account.id, domain_id: id }, work)

  const verified = await api.request('GET', `/api/domains/${id}`)
  shows(t, verified, { status: 200, body: { status: 'verified' } })
  const { records } = verified.body as unknown as PresentedDomain
  t.strictSame(new Set(records.map(record => record.status)), new Set(['verified']))
  t.match(await send(), { status: 200 })
})

t.test('POST /domains fills in defaults and keeps the given fields', async t => {
  const { status, body } = await add({ name: 'defaults.com', nothing: 'known' })
  t.equal(status, 201)
  t.strictSame(Object.keys(body), [
    ...['object', 'id', 'name', 'status', 'region', 'capabilities', 'open_tracking', 'click_tracking'],
    ...['tracking_subdomain', 'tls', 'custom_return_path', 'brand', 'postal_address', 'default_audience_id', 'records'],
    ...['verified_at', 'created_at', 'updated_at'],
  ])
  const capabilities = { sending: 'enabled', receiving: 'disabled' }
  const off = { open_tracking: false, click_tracking: false, tracking_subdomain: null, tls: 'opportunistic' }
  t.match(body, { region: 'us-east-1', capabilities, ...off, custom_return_path: 'send', verified_at: null })
  t.strictSame(kindsOf(body as unknown as PresentedDomain), SENDING)

  const given = {
    ...{ name: 'mail.given.co.uk', region: 'sa-east-1', capabilities: { sending: 'enabled', receiving: 'enabled' } },
    ...{ open_tracking: true, click_tracking: false, tls: 'enforced' },
  }
  const full = await add({ ...given, custom_return_path: 'Bounce.In', tracking_subdomain: 'GO' })
  t.match(full, { status: 201, body: { ...given, custom_return_path: 'bounce.in', tracking_subdomain: 'go' } })
  shows(t, kindsOf(full.body as unknown as PresentedDomain), [
    ...[/^DKIM/, /^DKIM/, 'SPF MX bounce.in.mail', 'SPF TXT bounce.in.mail', 'DMARC TXT _dmarc.mail'],
    ...['Receiving MX mail', 'Tracking CNAME go.mail'],
  ])
  const receiving = await add({ name: 'in.com', capabilities: { sending: 'disabled', receiving: 'enabled' } })
  t.strictSame(kindsOf(receiving.body as unknown as PresentedDomain), ['Receiving MX in.com'])
})

/** A name of 254 characters. */
const long = `${Array.from({ length: 4 }, () => 'a'.repeat(62)).join('.')}.co`
const wrong: [body: unknown, name: string, message?: RegExp][] = [
  [undefined, 'validation_error'],
  [[], 'validation_error'],
  [{}, 'missing_required_field', /`name`/],
  ...[7, null, ['b.co'], '', ' ', '.', 'co', 'localhost', 'a@b.co', 'b.co.', '.b.co', 'b..co', 'b.co/x', 'b.co:25'].map(
    name => [{ name }, 'validation_error'] as [unknown, string],
  ),
  ...[
    'https://b.co',
    '_dmarc.b.co',
    'a_b.co',
    '-a.co',
    'a-.co',
    '*.b.co',
    'b.co\u0000',
    'b.co\r\nx',
    'b%2eco',
    'b\u200b.co',
  ].map(name => [{ name }, 'validation_error'] as [unknown, string]),
  ...[
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '①②⑦.0.0.1',
    '2130706433',
    '[::1]',
    '::1',
    '1.2.3.4.5',
    'b.co\u202e',
    'a b.co',
  ].map(name => [{ name }, 'validation_error'] as [unknown, string]),
  ...['co.uk', 'CO.UK', 'github.io', 'xn--p1ai.', 'com.au', 'рф.'].map(
    name => [{ name }, 'validation_error'] as [unknown, string],
  ),
  [{ name: `${'a'.repeat(64)}.co` }, 'validation_error', /not a domain name/],
  [{ name: long }, 'validation_error', /not a domain name/],
  [{ name: long.slice(1) }, 'validation_error', /too long/],
  [{ name: 'ok.co', region: 'mars-1' }, 'validation_error', /`region`/],
  [{ name: 'ok.co', open_tracking: 'yes' }, 'validation_error', /`open_tracking`/],
  [{ name: 'ok.co', click_tracking: 1 }, 'validation_error', /`click_tracking`/],
  [{ name: 'ok.co', tls: 'none' }, 'validation_error', /`tls`/],
  [{ name: 'ok.co', capabilities: { sending: 'disabled' } }, 'validation_error', /at least one/],
  [{ name: 'ok.co', capabilities: { sending: true } }, 'validation_error', /`capabilities.sending`/],
  [{ name: 'ok.co', capabilities: 'all' }, 'validation_error', /`capabilities`/],
  ...['', 'a_b', '-a', 'a-', 'a..b', '.a', 'a.', 'ü', 'a b', 'a/b', 'a'.repeat(64), 7, null].map(
    value => [{ name: 'ok.co', custom_return_path: value }, 'validation_error', /custom_return_path/] as never,
  ),
  ...['', 'a_b', 'a.', 'a'.repeat(64), 7].map(
    value => [{ name: 'ok.co', tracking_subdomain: value }, 'validation_error', /tracking_subdomain/] as never,
  ),
  [{ name: 'ok.co', custom_return_path: 'Go', tracking_subdomain: 'gO' }, 'validation_error', /CNAME/],
  [{ name: 'ok.co', custom_return_path: 'track' }, 'validation_error', /CNAME/],
]

t.test('POST /domains refuses invalid fields by name and adds nothing', async t => {
  const count = async () => (await pool.pg.query('SELECT count(*) FROM domains')).rows[0].count
  const before = await count()
  for (const [body, name, message = /\w/] of wrong) {
    const answer = await api.request('POST', '/api/domains', { body })
    t.match(answer, { status: 422, body: { statusCode: 422, name, message } }, JSON.stringify(body))
    t.ok(answer.body.message.length < 400)
  }
  t.equal(await count(), before)
})

t.test('naughty strings are refused as domain names', async t => {
  const found = await Promise.all(
    naughtyStrings.map(async (name, i) => {
      const path = i % 5 === 0 ? `/api/domains/mx-check?name=${encodeURIComponent(name)}` : null
      const { status } = path ? await api.request('GET', path) : await add({ name })
      return { name, status }
    }),
  )
  const odd = found.filter(({ status }) => status !== 422)
  t.strictSame(odd, [])
})

t.test('a domain name has one form for any case, Unicode or Punycode', async t => {
  t.match(await add({ name: 'BÜCHER.de' }), { status: 201, body: { name: 'xn--bcher-kva.de' } })
  for (const name of ['bücher.DE', 'xn--bcher-kva.de', 'XN--BCHER-KVA.DE', 'bu\u0308cher.de', 'bücher。de']) {
    const message = 'This account has the domain xn--bcher-kva.de already.'
    t.match(await add({ name }), { status: 422, body: { name: 'validation_error', message } }, name)
  }
  // Cyrillic letters that look like Latin ones make another name, shown as Punycode.
  t.match(await add({ name: 'аррӏе.com' }), { status: 201, body: { name: 'xn--80ak6aa92e.com' } })
})

t.test('a domain conflicts with the same, parent and child domains of others', async t => {
  const other = await newAccount(world)
  const theirs = { account_id: other.id, id: other.id, name: 'mail.taken.co.uk', status: 'verified' } as const
  await addDomain(pool, world.secrets, theirs)
  for (const name of ['mail.taken.co.uk', 'taken.co.uk', 'MAIL.taken.co.uk', 'a.b.mail.taken.co.uk']) {
    const message = `The domain ${name.toLowerCase()}, or one above or below it, is verified by another account. Prove that it is yours with POST /domains/claim.`
    t.match(await add({ name }), { status: 409, body: { statusCode: 409, name: 'domain_conflict', message } }, name)
  }
  t.match(await add({ name: 'taken.co.uk' }, other.key), { status: 201 }, 'domains of one account do not conflict')
  for (const name of ['other.taken.co.uk', 'xmail.taken.co.uk', 'ail.taken.co.uk', 'mail.untaken.co.uk']) {
    t.match(await add({ name }), { status: 201 }, name)
  }
  for (const status of ['partially_verified', 'partially_failed', 'failed', 'pending', 'not_started']) {
    await setStatus(other.id, status)
    const isHeld = status.startsWith('partially')
    const answer = await add({ name: `${status.replace('_', '-')}.mail.taken.co.uk` })
    t.equal(answer.status, isHeld ? 409 : 201, status)
  }
})

t.test('verify is refused with 409 once another account has verified the name', async t => {
  const other = await newAccount(world)
  for (const [mine, theirs] of [
    ['same.net', 'same.net'],
    ['above.net', 'x.above.net'],
    ['x.below.net', 'below.net'],
  ] as const) {
    const { body } = await add({ name: mine })
    const { body: second } = await add({ name: theirs }, other.key)
    await setStatus(second.id, 'verified')
    const verify = () => api.request('POST', `/api/domains/${body.id}/verify`)
    t.match(await verify(), { status: 409, body: { name: 'domain_conflict' } }, mine)
    t.equal((await read(body.id)).status, 'not_started')
    t.equal(await takeJobs(body.id), 0)
    await setStatus(second.id, 'failed')
    shows(t, await verify(), { status: 200, body: { status: 'pending' } })
    t.equal(await takeJobs(body.id), 1)
  }
})

t.test('an operator can vouch for a domain unless another account has it verified', async t => {
  const other = await newAccount(world)
  const trust = (account_id: string, name: string) => createDomain(world, { account_id, name, is_trusted: true })
  const { id } = await trust(account.id, 'vouched.com')
  shows(t, await read(id), { status: 'verified', verified_at: /T/ })
  for (const name of ['vouched.com', 'a.vouched.com']) {
    const message = 'The domain vouched.com is verified by another account.'
    await t.rejects(trust(other.id, name), { name: 'domain_conflict', message })
  }
  const raced = await Promise.allSettled(
    ['raced.com', 'a.raced.com'].map((name, i) => trust([account, other][i]?.id ?? '', name)),
  )
  t.strictSame(raced.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
})

t.test('the domain limit of a plan is exact under concurrent requests', async t => {
  const limited = await newAccount(world)
  await givePlan(world, limited, { domains: 3 })
  const names = Array.from({ length: 6 }, (_, i) => `limited${i}.com`)
  const answers = await Promise.all(names.map(name => add({ name }, limited.key)))
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 201, 402, 402, 402, 402])
  const refused = answers.find(({ status }) => status === 402) as Answer
  const message = 'The plan of this account limits its domains to 3.'
  t.match(refused.body, { statusCode: 402, name: 'plan_limit_reached', message })
  t.match(
    await add({ name: 'github.io' }, limited.key),
    { status: 422 },
    'an invalid name is reported before the limit',
  )

  const { body } = answers.find(({ status }) => status === 201) as Answer
  const verify = () => api.request('POST', `/api/domains/${body.id}/verify`, { key: limited.key })
  t.match(await verify(), { status: 200 })
  await givePlan(world, limited, { domains: 2 })
  t.match(await verify(), { status: 402, body: { name: 'plan_limit_reached' } })
  await api.request('DELETE', `/api/domains/${body.id}`, { key: limited.key })
  t.match(await add({ name: 'limited9.com' }, limited.key), { status: 402 }, 'no room yet')
})

t.test('concurrent requests add the same name once', async t => {
  const answers = await Promise.all(Array.from({ length: 4 }, () => add({ name: 'once.com' })))
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 422, 422, 422])
})

t.test('GET /domains lists domains without records, newest first, in pages', async t => {
  const lister = await newAccount(world)
  const ids = [lister.domain_id]
  for (const name of ['l1.com', 'l2.com']) ids.unshift((await add({ name }, lister.key)).body.id)
  const list = async (query: string) => {
    const { body } = await api.request('GET', `/api/domains${query}`, { key: lister.key })
    return { ...body, data: body.data.map(({ id }) => id) }
  }
  t.match(await list(''), { object: 'list', has_more: false, data: ids })
  shows(t, await list('?limit=1'), { has_more: true, data: [ids[0]] })
  shows(t, await list(`?limit=1&after=${ids[0]}`), { has_more: true, data: [ids[1]] })
  shows(t, await list(`?before=${ids[1]}`), { has_more: false, data: [ids[0]] })
  const { body } = await api.request('GET', '/api/domains', { key: lister.key })
  t.notOk('records' in (body.data[0] as object))
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=01',
    'limit=1&limit=2',
    'after=x',
    `after=${ids[0]}&before=${ids[0]}`,
  ]) {
    t.match(
      await api.request('GET', `/api/domains?${query}`),
      { status: 422, body: { name: 'validation_error' } },
      query,
    )
  }
})

t.test('PATCH /domains/:id returns the id and changes only the given fields', async t => {
  const id = await domainIn('not_started')
  const before = await read(id)
  t.match(await change(id, { nothing: 'known' }), { status: 200, text: JSON.stringify({ object: 'domain', id }) })
  t.match(await read(id), { ...before, updated_at: /T/ })
  const fields = { open_tracking: true, tls: 'enforced', tracking_subdomain: 'GO', custom_return_path: 'b' }
  t.match(await change(id, { ...fields, capabilities: { receiving: 'enabled' } }), { status: 200 })
  const after = await read(id)
  const capabilities = { sending: 'enabled', receiving: 'enabled' }
  shows(t, after, { ...fields, tracking_subdomain: 'go', capabilities, click_tracking: false, status: 'not_started' })
  t.strictSame(kindsOf(after).slice(1), [
    ...['SPF MX b', 'SPF TXT b', 'DMARC TXT _dmarc', `Receiving MX ${before.name}`, 'Tracking CNAME go'],
  ])
  t.match(await change(id, { tracking_subdomain: null }), { status: 200 })
  t.match(await read(id), { tracking_subdomain: null })
  t.equal(await takeJobs(id), 0, 'no verification was requested')
})

t.test('PATCH /domains/:id with an invalid field changes nothing', async t => {
  const id = await domainIn('verified')
  const before = await read(id)
  for (const body of [
    ...[null, [], 'x', { tls: 'none' }, { open_tracking: null }, { capabilities: { sending: 'maybe' } }],
    ...[{ capabilities: { sending: 'disabled' } }, { tracking_subdomain: 'send' }, { custom_return_path: 'track' }],
    ...[{ tracking_subdomain: 'a_b' }, { custom_return_path: null }, { tls: 'enforced', click_tracking: 'yes' }],
    ...[{ name: 'other.com' }, { region: 'eu-west-1' }],
  ]) {
    t.match(await change(id, body), { status: 422, body: { name: 'validation_error' } }, JSON.stringify(body))
  }
  t.match(await api.request('PATCH', `/api/domains/${id}`, { raw: '{' }), { status: 422 })
  t.strictSame(await read(id), before)
  t.equal(await takeJobs(id), 0)
})

t.test('enabling a feature makes a verified domain partially verified and queues a check', async t => {
  for (const feature of [
    { capabilities: { receiving: 'enabled' } },
    { open_tracking: true },
    { click_tracking: true },
  ]) {
    const id = await domainIn('verified')
    t.match(await change(id, feature), { status: 200 })
    shows(t, await read(id), { status: 'partially_verified' })
    t.equal(await takeJobs(id), 1)
    await change(id, feature)
    t.equal(await takeJobs(id), 0, 'an unchanged field queues no check')
  }
  const jobsOf = { pending: 1, partially_verified: 1, partially_failed: 1, failed: 0 }
  for (const [status, jobs] of Object.entries(jobsOf) as [DomainStatus, number][]) {
    const id = await domainIn(status)
    await change(id, { open_tracking: true })
    t.match(await read(id), { status }, 'DNS decides')
    t.equal(await takeJobs(id), jobs, status)
  }
  const trusted = await domainIn('verified')
  await setStatus(trusted, 'verified', true)
  await change(trusted, { open_tracking: true, capabilities: { receiving: 'enabled' } })
  shows(t, await read(trusted), { status: 'verified' })
  t.equal(await takeJobs(trusted), 0)
  shows(t, await api.request('POST', `/api/domains/${trusted}/verify`), { body: { status: 'verified' } })
  t.equal(await takeJobs(trusted), 0)
})

t.test('enabling sending makes a receiving domain pending until it has keys', async t => {
  const id = await domainIn('verified', { sending: false, receiving: true })
  await change(id, { capabilities: { sending: 'enabled' } })
  shows(t, await read(id), { status: 'pending' })
  t.equal(await takeJobs(id), 1)
})

t.test('the status of a record that is no longer needed is deleted', async t => {
  const id = await domainIn('verified', { open_tracking: true })
  const { name } = await read(id)
  const known = ['track', 'send'].map(label => `${label}.${name}`)
  for (const record of known) {
    const values = [account.id, id, record, record.startsWith('send') ? 'MX' : 'CNAME']
    await pool.pg.query(`INSERT INTO domain_records VALUES ($1, $2, $3, $4, 'verified')`, values)
  }
  await pool.pg.query('UPDATE domains SET return_path_verified = true WHERE id = $1', [id])
  const left = async () => {
    const { rows } = await pool.pg.query(
      `SELECT array_agg(r.name) AS names, return_path_verified FROM domains d
       LEFT JOIN domain_records r ON r.domain_id = d.id WHERE d.id = $1 GROUP BY return_path_verified`,
      [id],
    )
    return rows[0]
  }
  await change(id, { tracking_subdomain: 'go' })
  t.strictSame(await left(), { names: [`send.${name}`], return_path_verified: true })
  await change(id, { custom_return_path: 'bounce' })
  t.strictSame(await left(), { names: [null], return_path_verified: false })
})

t.test('DELETE /domains/:id removes keys and fails queued mail; suppressions stay', async t => {
  const other = await newAccount(world)
  const as = (method: string, path: string, key = other.key) => api.request(method, `/api${path}`, { key })
  const [queued, scheduled] = [
    await acceptEmail(world, other),
    await acceptEmail(world, other, { scheduled_at: 'in 1 hour' }),
  ]
  const limited = await newAccount(world)
  await pool.pg.query('UPDATE api_keys SET domain_id = $1, account_id = $2 WHERE account_id = $3', [
    other.domain_id,
    other.id,
    limited.id,
  ])
  await suppress(world, other.id, 'a@b.com')

  const path = `/domains/${other.domain_id}`
  const { text } = await as('DELETE', path)
  t.equal(text, JSON.stringify({ object: 'domain', id: other.domain_id, deleted: true }))
  for (const method of ['GET', 'DELETE']) t.match(await as(method, path), { status: 404, body: { name: 'not_found' } })
  t.match(await as('POST', `${path}/verify`), { status: 404, body: { message: 'Domain not found' } })
  t.match(await as('GET', '/domains', limited.key), { status: 403, body: { name: 'invalid_api_key' } })

  await makeDue(world, scheduled)
  await deliverEmails(work, [queued, scheduled])
  shows(t, await readEmail(world, other, queued), { status: 'failed' })
  shows(t, await readEmail(world, other, scheduled), { status: 'failed' })
  const asked = await as('GET', `/emails/${queued}`)
  t.match(asked, { status: 200, body: { domain_id: other.domain_id } }, 'the email still shows its sender')
  shows(t, await as('GET', `/emails?domain=${other.domain_id}`), {
    body: { data: [{ id: scheduled }, { id: queued }] },
  })
  const { rows } = await pool.pg.query('SELECT address FROM suppressions WHERE account_id = $1', [other.id])
  t.strictSame(rows, [{ address: 'a@b.com' }])
  t.match(await add({ name: other.domain }, other.key), { status: 201 }, 'the name is free again')
})

t.test('a paused domain cannot be deleted', async t => {
  const id = await domainIn('verified')
  const pause = (at: string) => pool.pg.query(`UPDATE domains SET paused_at = ${at} WHERE id = $1`, [id])
  const drop = () => api.request('DELETE', `/api/domains/${id}`)
  await pause('now()')
  t.match(await drop(), { status: 403, body: { name: 'reputation_paused' } })
  t.match(await read(id), { id })
  await pause('NULL')
  t.match(await drop(), { status: 200 })
})

t.test('a change during checks is kept, and checked afterwards', async t => {
  const id = await domainIn('pending')
  publish(zone, await read(id))
  const verify = () => verify_domain({ account_id: account.id, domain_id: id }, work)
  await Promise.all([verify(), change(id, { open_tracking: true }), verify(), change(id, { tls: 'enforced' })])
  t.equal(await takeJobs(id), 1)
  t.match(await read(id), { open_tracking: true, tls: 'enforced' })
})
