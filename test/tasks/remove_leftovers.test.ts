import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { remove_leftovers } from '#tasks/remove_leftovers.ts'
import { startApi } from '#test/support/api.ts'
import { Imports } from '#test/support/contacts/imports.ts'
import { begin, openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { addDomain, newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const work = openWork(t, world)
const { pg } = world.pool

const post = async (path: string, body: object) => (await api.request('POST', `/api${path}`, { body })).body
const get = async (path: string) => (await api.request('GET', `/api${path}`)).body
const remove = (path: string) => api.request('DELETE', `/api${path}`)

/** Runs the queued jobs, as a worker does that reaches this time. */
async function runJobs(in_seconds = 60): Promise<void> {
  const { rows } = await pg.query(
    `SELECT p.payload FROM graphile_worker._private_jobs p JOIN graphile_worker._private_tasks t ON t.id = p.task_id
     WHERE t.identifier = 'remove_leftovers' AND p.run_at <= now() + make_interval(secs => $1) ORDER BY p.id`,
    [in_seconds],
  )
  if (in_seconds > 0) t.not(rows.length, 0)
  for (const { payload } of rows) await remove_leftovers(payload, work)
}

/** Adds contacts, more than one slice, each with a value of the property. */
async function addContacts(domain_id: string, count: number): Promise<void> {
  await pg.query(
    `INSERT INTO contacts (account_id, id, domain_id, email, properties, source)
     SELECT $1, gen_random_uuid(), $2, n || '@b.com', '{"plan": "pro"}', 'api' FROM generate_series(1, $3) n`,
    [account.id, domain_id, count],
  )
}

async function count(table: string, condition: string, id: string): Promise<number> {
  const { rows } = await pg.query(`SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`, [id])
  return rows[0].n
}

t.test('a deleted property is hidden at once, and its values are removed later', async t => {
  const { id } = await post('/contact-properties', { key: 'plan', type: 'string' })
  await addContacts(account.domain_id, 2_500)
  shows(t, await get(`/contacts/1@b.com?domain=${account.domain}`), { properties: { plan: 'pro' } })
  t.strictSame((await remove(`/contact-properties/${id}`)).body, { object: 'contact_property', id, deleted: true })
  shows(t, await get(`/contacts/1@b.com?domain=${account.domain}`), { properties: {} })
  t.equal((await remove(`/contact-properties/${id}`)).status, 404)

  const again = await post('/contact-properties', { key: 'plan', type: 'number', fallback_value: 1 })
  shows(t, await get(`/contacts/1@b.com?domain=${account.domain}`), { properties: { plan: 1 } })
  await post('/contacts', { email: '1@b.com', domain: account.domain, properties: { plan: 7 } })
  await runJobs()
  await runJobs() // as if the worker had died before it marked the job as done
  t.equal(await count('contacts', `account_id = $1 AND properties ? 'plan'`, account.id), 0)
  t.equal(await count('contact_properties', 'account_id = $1', account.id), 1)
  shows(t, await get(`/contacts/1@b.com?domain=${account.domain}`), { properties: { plan: 7 } })
  shows(t, await get(`/contact-properties/${again.id}`), { key: 'plan', type: 'number', fallback_value: 1 })
})

t.test('a property that is added again gets no value of a request that knew the deleted one', async t => {
  const { id } = await post('/contact-properties', { key: 'level', type: 'string' })
  const lock = sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended(${`contacts ${account.id}`}, 0))`
  const other = await begin(world, tx => tx.run(lock))
  const contacts = [{ email: 'level@b.com', properties: { level: 'high' } }]
  const batch = post('/contacts/batch', { domain: account.domain, contacts })
  await untilBlocked(world, '%lock_contacts%')
  await remove(`/contact-properties/${id}`)
  await runJobs(0)
  await other.commit()
  shows(t, await batch, { total: 1 })
  await runJobs()
  await post('/contact-properties', { key: 'level', type: 'number' })
  shows(t, await get(`/contacts/level@b.com?domain=${account.domain}`), { properties: { level: undefined } })
  await remove(`/contacts/level@b.com?domain=${account.domain}`)
})

t.test('deleting an audience keeps its contacts', async t => {
  const audience = await post('/audiences', { name: 'News', domain: account.domain })
  await pg.query('INSERT INTO audience_members SELECT account_id, $2, id FROM contacts WHERE account_id = $1', [
    account.id,
    audience.id,
  ])
  shows(t, await get(`/audiences/${audience.id}`), { contacts_count: 2_500 })
  t.equal((await remove(`/audiences/${audience.id}`)).status, 200)
  await runJobs()
  for (const table of ['audience_members', 'audience_counts']) {
    t.equal(await count(table, 'audience_id = $1', audience.id), 0, table)
  }
  shows(t, await get(`/audiences/${account.domain_id}`), { contacts_count: 2_500 })
})

t.test(
  'all members of a deleted segment are removed, although other requests remove some of them at the same time',
  async t => {
    const segment = await post('/segments', { name: 'News', domain: account.domain })
    const { rows } = await pg.query(
      'INSERT INTO segment_members SELECT account_id, $2, id FROM contacts WHERE account_id = $1 LIMIT 1003 RETURNING contact_id',
      [account.id, segment.id],
    )
    await remove(`/segments/${segment.id}`)
    const other = await openTransaction(t, world)
    // At least one of four is among the 1,000 of the first slice.
    const four = rows.slice(0, 4).map(({ contact_id }) => contact_id)
    await other.query('DELETE FROM segment_members WHERE segment_id = $1 AND contact_id = ANY ($2)', [segment.id, four])
    const jobs = runJobs()
    await untilBlocked(world, '%DELETE FROM segment_members%')
    await other.commit()
    await jobs
    t.equal(await count('segment_members', 'segment_id = $1', segment.id), 0)
  },
)

t.test('a domain with contacts is deleted only with_contacts=true', async t => {
  const domain = { account_id: account.id, id: newId(), name: `gone-${account.domain}`, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, domain)
  await addContacts(domain.id, 1_500)
  const { id } = await post('/contacts', { email: 'out@b.com', domain: domain.name, unsubscribed: true })
  await post('/events/send', { event: 'viewed', email: 'out@b.com', domain: domain.name })
  const former = await post('/contacts', { email: 'former@b.com', domain: domain.name })
  await remove(`/contacts/${former.id}`)
  const message = 'The domain has contacts: add `?with_contacts=true` to delete them with it.'
  shows(t, await remove(`/domains/${domain.id}`), { status: 422, body: { message } })
  shows(t, await remove(`/domains/${domain.id}?with_contacts=yes`), { status: 422 })
  shows(t, await get(`/audiences/${domain.id}`), { contacts_count: 1_501 })

  t.equal((await remove(`/domains/${domain.id}?with_contacts=true`)).status, 200)
  for (const path of [`/contacts/${id}`, `/audiences/${domain.id}`]) shows(t, await get(path), { name: 'not_found' })
  t.equal(await count('contacts', 'domain_id = $1', domain.id), 1_501, 'they are removed later')
  await runJobs()
  const tables = [
    'contacts',
    'former_contacts',
    'contact_optouts',
    'contact_consents',
    'contact_events',
    'audiences',
    'segments',
  ]
  for (const table of tables) {
    t.equal(await count(table, 'domain_id = $1', domain.id), 0, table)
  }
})

t.test('an import that ends after its domain was deleted is removed too', async t => {
  const domain = { account_id: account.id, id: newId(), name: `left-${account.domain}`, status: 'verified' as const }
  await addDomain(world.pool, world.secrets, domain)
  const imports = new Imports(api, account.key, work.importer)
  const done = await imports.ofText('email\nleft@b.com\nwrong\n', { domain: domain.name })
  t.equal(await count('import_errors', 'import_id = $1', done.id), 1)
  const { id } = await post('/contacts/imports', { csv: 'email\nlate@b.com\nwrong\n', domain: domain.name })
  t.equal((await remove(`/domains/${domain.id}?with_contacts=true`)).status, 200)
  await runJobs()
  t.equal(await count('contact_imports', 'domain_id = $1', domain.id), 1, 'it has not ended')
  await pg.query(`DELETE FROM graphile_worker._private_jobs`)
  shows(t, await imports.finish(id), { status: 'failed' })
  await runJobs()
  t.equal(await count('contact_imports', 'domain_id = $1', domain.id), 0)
  t.equal(await count('import_errors', 'import_id = $1', id), 0)
})

t.test('an import does not fill a property that was added again with another type', async t => {
  const imports = new Imports(api, account.key, work.importer)
  const { id } = await post('/contacts/imports', { csv: 'email,Seats\nseat@b.com,10\n', domain: account.domain })
  const { data } = Object(await get('/contact-properties'))
  await remove(`/contact-properties/${data.find(({ key }: { key: string }) => key === 'seats').id}`)
  await runJobs()
  await post('/contact-properties', { key: 'seats', type: 'number' })
  shows(t, await imports.finish(id), { counts: { created: 1 } })
  shows(t, await get(`/contacts/seat@b.com?domain=${account.domain}`), { properties: { seats: undefined } })
})

t.test('an audience and a segment that a batch fills are deleted after it', async t => {
  const { domain } = account
  await post('/contacts', { email: 'held@b.com', domain })
  const audience = await post('/audiences', { name: 'Deleted', domain })
  const segment = await post('/segments', { name: 'Deleted', domain, filter: { status: 'members_only' } })
  const holder = await openTransaction(t, world)
  await holder.query(`SELECT FROM contacts WHERE email = 'held@b.com' FOR UPDATE`)
  const batch = post(`/audiences/${audience.id}/contacts/batch`, {
    ...{ contacts: [{ email: 'held@b.com' }], segments: [segment.id] },
  })
  await untilBlocked(world)
  const removed = Promise.all([remove(`/audiences/${audience.id}`), remove(`/segments/${segment.id}`)])
  await Promise.race([removed, sleep(300)])
  await holder.commit()
  shows(t, await batch, { total: 1 })
  for (const { status } of await removed) t.equal(status, 200)
  await runJobs()
  t.equal(await count('audience_members', 'audience_id = $1', audience.id), 0)
  t.equal(await count('segment_members', 'segment_id = $1', segment.id), 0)
})
