import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { openTransaction } from '#test/support/database/locks.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t, { CONTACT_WRITE_MS: '3000' })
const { pg } = world.pool
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const post = (path: string, body: object) => api.request('POST', `/api${path}`, { body })
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const batch = (contacts: unknown[], more: object = {}) => post('/contacts/batch', { contacts, ...more })

t.before(() => post('/contact-properties', { key: 'seats', type: 'number' }))

t.test('POST /contacts/batch stores valid contacts and returns an error per invalid one', async t => {
  await post('/contacts', { email: 'old@b.com', first_name: 'Old' })
  const { status, body } = await batch([
    { email: 'New@b.com', firstName: 'N', properties: { seats: 2 } },
    { email: 'not an address' },
    { email: 'old@b.com', last_name: 'Er' },
    { email: 'new2@b.com', properties: { seats: 'many' } },
    { email: 'new3@b.com', properties: { chairs: 1 } },
    { first_name: 'Nobody' },
    7,
  ])
  t.equal(status, 200)
  shows(t, body, {
    object: 'contact_batch',
    ...{ total: 7, created: 1, updated: 1, skipped: 0, failed: 5 },
    data: [
      { id: /./, email: 'new@b.com' },
      { id: /./, email: 'old@b.com' },
    ],
    errors: [
      {
        index: 1,
        email: 'not an address',
        message: '`contacts[1].email` must be an address such as ann@acme.com.',
      },
      { index: 3, email: 'new2@b.com', message: '`contacts[3].properties.seats` must be a number.' },
      {
        index: 4,
        email: 'new3@b.com',
        message: '`contacts[4].properties` has the key "chairs", which is not a contact property.',
      },
      { index: 5, email: null, message: 'Missing `contacts[5].email` field.' },
      { index: 6, email: null, message: '`contacts[6]` must be an object.' },
    ],
  })
  shows(t, await get('/contacts/new@b.com'), { first_name: 'N', properties: { seats: 2 } })
  shows(t, await get('/contacts/old@b.com'), { first_name: 'Old', last_name: 'Er' })
})

t.test('POST /contacts/batch keeps the last of equal addresses', async t => {
  const { body } = await batch([
    { email: 'twin@b.com', first_name: 'First' },
    { email: 'Twin@b.com', first_name: 'Last' },
  ])
  shows(t, body, { total: 2, created: 1, updated: 0, skipped: 1, failed: 0, data: [{ email: 'twin@b.com' }] })
  shows(t, await get('/contacts/twin@b.com'), { first_name: 'Last' })
  const kept = await batch([{ email: 'twin@b.com', first_name: 'Other' }], { on_conflict: 'skip' })
  shows(t, kept.body, { created: 0, updated: 0, skipped: 1, data: [{ email: 'twin@b.com' }] })
  shows(t, await get('/contacts/twin@b.com'), { first_name: 'Last' })
})

t.test('POST /contacts/batch ends an opt-out only with `resubscribe`', async t => {
  await post('/contacts', { email: 'out@b.com', unsubscribed: true })
  const contacts = [{ email: 'out@b.com', unsubscribed: false, first_name: 'O' }]
  shows(t, (await batch(contacts)).body, { updated: 1, data: [{ email: 'out@b.com', skipped: ['unsubscribed'] }] })
  shows(t, await get('/contacts/out@b.com'), { unsubscribed: true, first_name: 'O' })
  const { body } = await batch(contacts, { resubscribe: true })
  shows(t, body, { updated: 1 })
  t.strictSame(body.data, [{ id: body.data[0]?.id, email: 'out@b.com' }])
  shows(t, await get('/contacts/out@b.com'), {
    unsubscribed: false,
    consents: [{ subscription: 'opt_in' }, { subscription: 'opt_out' }],
  })
})

t.test('POST /audiences/:audience_id/contacts/batch adds contacts to the audience and segments', async t => {
  const { body: audience } = await post('/audiences', { name: 'News' })
  const path = `/audiences/${audience.id}/contacts/batch`
  const contacts = Array.from({ length: 2_500 }, (_, n) => ({ email: `m${n}@b.com` }))
  const { body } = await post(path, { contacts, segments: [account.domain_id] })
  shows(t, body, { total: 2_500, created: 2_500, failed: 0 })
  t.strictSame(
    body.data.map(one => Object(one).email),
    contacts.map(({ email }) => email),
  )
  shows(t, await get(`/audiences/${audience.id}`), { contacts_count: 2_500 })
  const { rows } = await pg.query('SELECT count(*)::int AS n FROM segment_members WHERE account_id = $1', [account.id])
  t.equal(rows[0].n, 2_500)
  shows(t, await post(path, { contacts, segments: [audience.id] }), { status: 404 })
  shows(t, await post(path, { contacts: [] }), { status: 422 })
})

t.test('webhooks get one event per contact that a batch changed', async t => {
  const other = await newAccount(world)
  const ask = (path: string, body: object) => api.request('POST', `/api${path}`, { key: other.key, body })
  await ask('/webhooks', { endpoint: 'https://hook.acme.com/', events: ['contact.created', 'contact.updated'] })
  const contacts = Array.from({ length: 1_200 }, (_, n) => ({ email: `w${n}@b.com`, first_name: 'A' }))
  await ask('/contacts/batch', { contacts })
  await ask('/contacts/batch', { contacts: [...contacts.slice(0, 2), { email: 'w2@b.com', first_name: 'B' }] })
  const { rows } = await pg.query(
    `SELECT type, count(*)::int AS events FROM webhook_events WHERE account_id = $1 GROUP BY type ORDER BY type`,
    [other.id],
  )
  t.strictSame(rows, [
    { type: 'contact.created', events: 1_200 },
    { type: 'contact.updated', events: 1 },
  ])
  const { rows: bodies } = await pg.query(
    `SELECT convert_from(body, 'UTF8')::json -> 'data' AS data FROM webhook_events WHERE account_id = $1 AND type = 'contact.updated'`,
    [other.id],
  )
  const { consents, audience_ids, object, ...contact } = (
    await api.request('GET', '/api/contacts/w2@b.com', { key: other.key })
  ).body as unknown as Record<string, unknown>
  t.strictSame(bodies, [{ data: { ...contact, audience_id: other.domain_id, segment_ids: [] } }])
})

t.test('webhooks get an event per contact that joins a segment, or joins or leaves an audience', async t => {
  const other = await newAccount(world)
  const ask = (path: string, body: object) => api.request('POST', `/api${path}`, { key: other.key, body })
  await ask('/webhooks', { endpoint: 'https://hook.acme.com/', events: ['contact.updated'] })
  const contacts = ['one@b.com', 'two@b.com'].map(email => ({ email }))
  await ask('/contacts/batch', { contacts })
  const { id: segment } = (await ask('/segments', { name: 'S', domain: other.domain })).body
  const { id: audience } = (await ask('/audiences', { name: 'A' })).body
  for (let times = 0; times < 2; times++) {
    await ask('/contacts', { email: 'one@b.com', segments: [segment] })
    await ask('/contacts/batch', { contacts, segments: [segment], on_conflict: 'skip' })
    await ask(`/audiences/${audience}/contacts`, { email: 'one@b.com' })
  }
  await api.request('DELETE', `/api/audiences/${audience}/contacts/one@b.com`, { key: other.key })
  const { rows } = await pg.query(
    `SELECT data ->> 'email' AS email, data -> 'segment_ids' AS segments FROM (
       SELECT id, convert_from(body, 'UTF8')::json -> 'data' AS data FROM webhook_events WHERE account_id = $1
     ) e ORDER BY id`,
    [other.id],
  )
  t.strictSame(
    rows,
    ['one@b.com', 'two@b.com', 'one@b.com', 'one@b.com'].map(email => ({ email, segments: [segment] })),
  )
})

t.test('POST /contacts/batch is refused during an import, and rolled back at its timeout', async t => {
  const holder = await openTransaction(t, world)
  await holder.query('SELECT lock_contacts($1, $2, true, 1000)', [account.id, account.domain_id])
  const busy = await batch([{ email: 'late@b.com' }])
  shows(t, busy, { status: 503, body: { name: 'contacts_busy' } })
  t.equal(busy.headers.get('retry-after'), '2')
  await holder.rollback()

  await pg.query(
    `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$`,
  )
  await pg.query('CREATE TRIGGER dawdle AFTER INSERT ON contacts FOR EACH STATEMENT EXECUTE FUNCTION dawdle()')
  const contacts = Array.from({ length: 2_000 }, (_, n) => ({ email: `slow${n}@b.com` }))
  shows(t, await batch(contacts), { status: 503, body: { name: 'contacts_timeout' } })
  await pg.query('DROP FUNCTION dawdle CASCADE')
  shows(t, await get('/contacts/slow0@b.com'), { name: 'not_found' })
  shows(t, await batch(contacts), { status: 200, body: { created: 2_000 } })
})
