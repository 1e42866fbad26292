import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { makeRecipient, makeTopic, readState, readWebhookEvents } from '#test/support/unsubscribing.ts'
import { insertUnchecked } from '#test/support/webhooks/announced_events.ts'
import { addOtherDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

/** Sends a request like a mail client, without a key. */
const ask = (method: string, path: string, body: RequestInit['body'] = null, headers: Record<string, string> = {}) =>
  fetch(api.url + path, { method, body, headers, redirect: 'manual', duplex: 'half' } as RequestInit)
const press = (path: string, fields: [string, string][]) => ask('POST', path, new URLSearchParams(fields))
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body as unknown as Record<string, unknown>
const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body
const eventsOf = async (email_id: string) =>
  ((await get(`/emails/${email_id}`)).events as { type: string }[]).filter(({ type }) => type === 'unsubscribed')

t.test('one-click unsubscribes a contact from everything, once', async t => {
  const own = await newAccount(world)
  await insertUnchecked(world, own.id, 'https://hooks.acme.com/x')
  const { body: contact } = await api.request('POST', '/api/contacts', { key: own.key, body: { email: 'one@b.com' } })
  const { path, email_id } = await makeRecipient(world, own, 'One@B.com')
  const click = () =>
    ask('POST', path, 'List-Unsubscribe=One-Click', { 'content-type': 'application/x-www-form-urlencoded' })

  const before = (await readWebhookEvents(world, own)).length
  const response = await click()
  shows(
    t,
    { status: response.status, text: await response.text(), cookies: response.headers.getSetCookie() },
    { status: 200, text: '', cookies: [] },
  )
  t.equal(response.headers.get('cache-control'), 'no-store')
  const state = await readState(world, own)
  t.equal((await click()).status, 200)
  t.strictSame(await readState(world, own), state, 'the second changes nothing')

  const asOwner = async (path: string) => (await api.request('GET', `/api${path}`, { key: own.key })).body
  shows(t, await asOwner(`/contacts/${contact.id}`), {
    unsubscribed: true,
    consents: [
      { topic_id: null, subscription: 'opt_out', how: 'one_click', source_id: email_id, client_address: '127.0.0.1' },
    ],
  })
  shows(t, await asOwner(`/emails/${email_id}`), { last_event: 'unsubscribed' })
  const told = (await readWebhookEvents(world, own)).slice(before)
  shows(
    t,
    told.sort((a, b) => (a.type < b.type ? -1 : 1)),
    [
      { type: 'contact.updated', data: { id: contact.id, unsubscribed: true } },
      { type: 'email.unsubscribed', data: { email_id, contact_id: contact.id, topic_id: null, to: ['one@b.com'] } },
    ],
  )
})

t.test('one-click for an email with a topic unsubscribes only from that topic', async t => {
  const topic_id = await makeTopic(world, account, { name: 'Offers', visibility: 'private' })
  const { id } = await post('/contacts', { email: 'topic@b.com' })
  const { path, email_id } = await makeRecipient(world, account, 'topic@b.com', topic_id)
  t.equal((await ask('POST', path)).status, 200)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false, consents: [{ topic_id, subscription: 'opt_out' }] })
  shows(t, await eventsOf(email_id), [{ recipient: 'topic@b.com', topic_id, contact_id: id }])
  const { rows } = await world.pool.pg.query(
    'SELECT topic_id, subscription FROM contact_topics WHERE contact_id = $1',
    [id],
  )
  t.strictSame(rows, [{ topic_id, subscription: 'opt_out' }])

  await world.pool.pg.query('DELETE FROM topics WHERE id = $1', [topic_id])
  t.equal((await ask('POST', path)).status, 200)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true }, 'a link of a deleted topic means everything')
})

t.test('one-click accepts every form of request body', async t => {
  const multipart = new FormData()
  multipart.set('List-Unsubscribe', 'One-Click')
  const chunks = () =>
    new ReadableStream({
      start(controller) {
        for (const part of ['List-Unsub', 'scribe=One', '-Click']) controller.enqueue(Buffer.from(part))
        controller.close()
      },
    })
  const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
  const bodies: [string, RequestInit['body'], Record<string, string>?][] = [
    ['multipart', multipart],
    ['urlencoded', 'List-Unsubscribe=One-Click', urlencoded],
    ['chunked', chunks(), urlencoded],
    ['empty', null],
    ['of a type without a body', null, urlencoded],
    ['text', 'List-Unsubscribe=One-Click', { 'content-type': 'text/plain' }],
    ['broken multipart', 'nothing', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['of a robot', 'List-Unsubscribe=One-Click', { ...urlencoded, 'user-agent': '' }],
  ]
  for (const [n, [name, body, headers]] of bodies.entries()) {
    const email = `form${n}@b.com`
    const { id } = await post('/contacts', { email })
    const { path, email_id } = await makeRecipient(world, account, email)
    const response = await ask('POST', path, body, headers)
    shows(t, { status: response.status, text: await response.text() }, { status: 200, text: '' }, name)
    shows(t, await get(`/contacts/${id}`), { unsubscribed: true }, name)
    t.equal((await eventsOf(email_id)).length, 1, name)
  }
  const { path } = await makeRecipient(world, account, 'large@b.com')
  t.equal((await ask('POST', path, 'x'.repeat(200_000), urlencoded)).status, 400)
})

t.test('50 concurrent clicks record one event', async t => {
  await post('/contacts', { email: 'many@b.com' })
  for (const address of ['many@b.com', 'no-contact@b.com']) {
    const { path, email_id } = await makeRecipient(world, account, address)
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask('POST', path)))
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
    t.equal((await eventsOf(email_id)).length, 1, address)
    const { rows } = await world.pool.pg.query(
      'SELECT how FROM contact_consents WHERE account_id = $1 AND source_id = $2',
      [account.id, email_id],
    )
    t.strictSame(rows, [{ how: 'one_click' }])
  }
})

t.test('an opted-out address is unsubscribed when it becomes a contact', async t => {
  const { path, email_id } = await makeRecipient(world, account, 'stranger@b.com')
  t.equal((await ask('POST', path)).status, 200)
  shows(t, await eventsOf(email_id), [{ recipient: 'stranger@b.com', contact_id: null, topic_id: null }])
  shows(t, await post('/contacts', { email: 'stranger@b.com' }), { unsubscribed: true })
})

t.test('the link of a deleted contact still unsubscribes', async t => {
  const { id } = await post('/contacts', { email: 'deleted@b.com' })
  const { path } = await makeRecipient(world, account, 'deleted@b.com')
  await api.request('DELETE', `/api/contacts/${id}`)
  t.equal((await ask('POST', path)).status, 200)
  shows(t, await post('/contacts', { email: 'deleted@b.com' }), { unsubscribed: true })
})

t.test('the link of a deleted email still unsubscribes', async t => {
  const { id } = await post('/contacts', { email: 'old@b.com' })
  const { path, email_id } = await makeRecipient(world, account, 'old@b.com')
  await world.pool.pg.query('DELETE FROM emails WHERE id = $1', [email_id])
  t.equal((await ask('POST', path)).status, 200)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
})

t.test('one-click writes no event to an email whose recipients were removed', async t => {
  const { id } = await post('/contacts', { email: 'forgotten@b.com' })
  const { path, email_id } = await makeRecipient(world, account, 'forgotten@b.com')
  await world.pool.pg.query('DELETE FROM email_contents WHERE email_id = $1', [email_id])
  t.equal((await ask('POST', path)).status, 200)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
  const { rows } = await world.pool.pg.query(`SELECT FROM email_events WHERE email_id = $1 AND type = 'unsubscribed'`, [
    email_id,
  ])
  t.equal(rows.length, 0)
})

t.test('saving a page opened before the opt-out does not resubscribe', async t => {
  const topic_id = await makeTopic(world, account, { name: 'Late news', visibility: 'public' })
  const { id } = await post('/contacts', { email: 'stale@b.com', unsubscribed: true })
  const { path } = await makeRecipient(world, account, 'stale@b.com')
  const body = new URLSearchParams({ action: 'save', shown: topic_id, topic: topic_id })
  const response = await fetch(api.url + path, { method: 'POST', body })
  t.equal(response.status, 200)
  const page = await response.text()
  t.match(page, 'value="resubscribe"')
  t.notMatch(page, 'type="checkbox"')
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
})

t.test('subscribing again to one domain leaves the opt-out of the address from another', async t => {
  const own = await newAccount(world)
  const other = await addOtherDomain(world, own)
  const { path, email_id } = await makeRecipient(world, own, 'twice@b.com')
  const fromOther = { ...own, domain: other.name, domain_id: other.id }
  for (const link of [path, (await makeRecipient(world, fromOther, 'twice@b.com')).path]) {
    t.equal((await ask('POST', link)).status, 200)
  }
  t.equal((await press(path, [['action', 'resubscribe']])).status, 200)
  const add = async (domain: string) =>
    (await api.request('POST', '/api/contacts', { key: own.key, body: { email: 'twice@b.com', domain } })).body
  shows(t, await add(own.domain), { unsubscribed: false })
  shows(t, await add(other.name), { unsubscribed: true })
  const { body: email } = await api.request('GET', `/api/emails/${email_id}`, { key: own.key })
  const left = Object(email).events.filter(({ type }: { type: string }) => type === 'unsubscribed')
  t.equal(left.length, 1, 'subscribing again is no event of the email')
})

t.test('an address that has complained may only opt out, until the complaint expires', async t => {
  const { id } = await post('/contacts', { email: 'angry@b.com', unsubscribed: true })
  const { path } = await makeRecipient(world, account, 'angry@b.com')
  await post('/suppressions', { email: 'angry@b.com', reason: 'complaint', expires_at: '2999-01-01T00:00:00Z' })
  t.match(await (await press(path, [['action', 'resubscribe']])).text(), /You reported an email from .* as spam/)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: true })
  await world.pool.pg.query('UPDATE suppressions SET expires_at = now() WHERE account_id = $1', [account.id])
  t.notMatch(await (await press(path, [['action', 'resubscribe']])).text(), /as spam/)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false })
})

t.test('the page offers the topics of its domain, and to a stranger only those that it gets', async t => {
  const own = await newAccount(world)
  const other = await addOtherDomain(world, own)
  await makeTopic(world, own, { name: 'Ours by default' })
  await makeTopic(world, own, { name: 'Ours by choice', default_subscription: 'opt_out' })
  await makeTopic(world, own, { name: 'Theirs', domain_id: other.id })
  await api.request('POST', '/api/contacts', { key: own.key, body: { email: 'known@b.com', domain: own.domain } })
  const topicsFor = async (address: string) => {
    const page = await (await ask('GET', (await makeRecipient(world, own, address)).path)).text()
    return page.match(/Ours by default|Ours by choice|Theirs/g)
  }
  t.strictSame(await topicsFor('known@b.com'), ['Ours by choice', 'Ours by default'])
  t.strictSame(await topicsFor('stranger@b.com'), ['Ours by default'])
})

t.test('a form changes no topic that the page does not offer', async t => {
  const topic_id = await makeTopic(world, account, { name: 'Staff', visibility: 'private' })
  const { id } = await post('/contacts', { email: 'forger@b.com' })
  const { path } = await makeRecipient(world, account, 'forger@b.com')
  const forge = (fields: [string, string][]) => press(path, [['action', 'save'], ['shown', topic_id], ...fields])
  for (const fields of [[], [['topic', topic_id]]] as [string, string][][]) t.equal((await forge(fields)).status, 200)
  shows(t, await get(`/contacts/${id}`), { unsubscribed: false, consents: [] })
})

t.test('two recipients of one email do not unsubscribe each other', async t => {
  const [ann, bob] = [await post('/contacts', { email: 'ann@b.com' }), await post('/contacts', { email: 'bob@b.com' })]
  const { path } = await makeRecipient(world, account, 'ann@b.com')
  await ask('POST', path)
  shows(t, await get(`/contacts/${ann.id}`), { unsubscribed: true })
  shows(t, await get(`/contacts/${bob.id}`), { unsubscribed: false })
})

t.test('one-click does not wait for an import', async t => {
  const { path } = await makeRecipient(world, account, 'during@b.com')
  await post('/contacts', { email: 'during@b.com' })
  await world.pool.transaction(async tx => {
    const { sql } = await import('#sql/pool.ts')
    await tx.run(sql.unsafe`SELECT lock_contacts(${account.id}, ${account.domain_id}, true, 2000)`)
    t.equal((await ask('POST', path)).status, 200, 'while the import has the lock')
  })
  shows(t, await get('/contacts/during@b.com'), { unsubscribed: true })
})

t.test('GET and HEAD of an unsubscribe link change nothing', async t => {
  const topic_id = await makeTopic(world, account, { name: 'News' })
  await post('/contacts', { email: 'get@b.com' })
  const { path } = await makeRecipient(world, account, 'get@b.com', topic_id)
  const state = await readState(world, account)
  for (let n = 0; n < 100; n++) {
    t.equal((await ask(n % 2 ? 'HEAD' : 'GET', `${path}${n % 4 > 1 ? '?action=unsubscribe' : ''}`)).status, 200)
  }
  t.strictSame(await readState(world, account), state)
  t.equal((await press(path, [])).status, 200, 'the same link unsubscribes by POST')
})

t.test('invalid unsubscribe tokens all get the same 404 page', async t => {
  const { path, mailto } = await makeRecipient(world, account, 'fuzz@b.com')
  const token = path.slice('/u/'.length)
  const bytes = Buffer.from(token, 'base64url')
  const flipped = Array.from({ length: 40 }, (_, n) => {
    const copy = Buffer.from(bytes)
    copy[n * 2] = (copy[n * 2] as number) ^ (1 << (n % 8))
    return copy.toString('base64url')
  })
  const state = await readState(world, account)
  const bad = [
    '',
    'x',
    `${token}/`,
    `${token}A`,
    token.slice(0, -1),
    '%00',
    '%E0%A4%A',
    '..%2f',
    'a/b',
    mailto,
    'x'.repeat(6_000),
    ...flipped,
  ]
  const pages = new Set<string>()
  for (const text of bad) {
    for (const method of ['GET', 'POST']) {
      const response = await ask(method, `/u/${text}`)
      t.equal(response.status, 404, `${method} ${text}`)
      pages.add(await response.text())
    }
  }
  t.equal(pages.size, 1)
  t.strictSame(await readState(world, account), state)
})

t.test('the link of a deleted domain is 404, but accepts one-click', async t => {
  const own = await newAccount(world)
  const { path } = await makeRecipient(world, own, 'x@b.com')
  await world.pool.pg.query('DELETE FROM domains WHERE id = $1', [own.domain_id])
  t.equal((await ask('GET', path)).status, 404)
  t.equal((await ask('POST', path)).status, 200)
})

t.test('names from right to left are isolated from the sentence around them', async t => {
  const own = await newAccount(world)
  for (const name of ['عروض', 'News <1>']) await makeTopic(world, own, { name })
  const { path } = await makeRecipient(world, own, 'rtl@b.com')
  const shown = [...(await (await ask('GET', path)).text()).matchAll(/name="shown" value="([^"]+)"/g)]
  const fields = shown.map(([, id]): [string, string] => ['shown', id as string])
  const page = await (await press(path, [...fields, ['action', 'save']])).text()
  t.match(page, '<p>You will no longer get: <bdi>News &lt;1&gt;</bdi>, <bdi>عروض</bdi>.</p>')
  t.match(page, /h1,legend,span,small\{unicode-bidi:plaintext}/)
})
