import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { createApiKey } from '#flows/accounts/create_api_key.ts'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { shows } from '#test/support/shows.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
world.pool.pg.options.connectionTimeoutMillis = 2_000 // as in a process (sql/connections.ts)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }
const newKey = {
  account_id: account.id,
  name: 'new',
  permission: 'full_access',
  domain_id: null,
  expires_at: null,
} as const

/** Keeps every connection of the pool busy until `wake`, which uses a connection of its own. */
async function exhaustPool() {
  const { max } = world.pool.pg.options
  const asleep = Array.from({ length: max }, () => world.pool.pg.query('SELECT pg_sleep(60)'))
  const ended = Promise.allSettled(asleep)
  const isExhausted = () => world.pool.pg.idleCount === 0 && world.pool.pg.totalCount >= max
  await waitUntil(isExhausted, 'every connection is asleep')
  const wake = async () => {
    const client = new pg.Client({ connectionString: world.config.DATABASE_URL })
    await client.connect()
    await client.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%'`,
    )
    await client.end()
    await ended
  }
  return { wake }
}

async function timed(answer: ReturnType<typeof api.request>) {
  const start = performance.now()
  const { status, headers, body } = await answer
  return {
    status,
    name: body.name,
    retry_after: headers.get('retry-after'),
    seconds: (performance.now() - start) / 1_000,
  }
}

t.test('requests get 503 or 500 within 3.5 seconds while no connection is free', async t => {
  const stranger = await createApiKey(world.pool, world.secrets, newKey)
  const post = (key: string) => timed(api.request('POST', '/api/emails', { key, body: email }))
  const get = (key: string) => timed(api.request('GET', '/api/emails', { key }))
  t.match(await post(account.key), { status: 200 }) // its key is cached from now on

  const { wake } = await exhaustPool()
  const posts = [post(stranger), ...Array.from({ length: 40 }, () => post(account.key))]
  const gets = [get(stranger), ...Array.from({ length: 10 }, () => get(account.key))]
  await sleep(1_000)
  posts.push(...Array.from({ length: 20 }, () => post(account.key)))
  const event = { event: 'order.placed', email: 'ann@example.com', domain: account.domain }
  for (const path of ['events', 'events/send']) posts.push(timed(api.request('POST', `/api/${path}`, { body: event })))
  posts.push(
    timed(api.request('POST', '/api/campaigns', { body: { from: `a@${account.domain}`, subject: 'Hi', text: 'Hi' } })),
  )
  for (const name of ['campaigns', 'broadcasts']) {
    posts.push(timed(api.request('POST', `/api/${name}/${newId()}/send`, { body: { scheduled_at: 'in 1 hour' } })))
  }
  const ready = api.request('GET', '/readyz')

  const overloaded = { status: 503, name: 'sending_service_unavailable', retry_after: '5' }
  const failed = { status: 500, name: 'internal_server_error', retry_after: '5' }
  t.match(await Promise.all(posts), Array(66).fill(overloaded))
  t.match(await Promise.all(gets), Array(11).fill(failed))
  const slowest = Math.max(...(await Promise.all([...posts, ...gets])).map(({ seconds }) => seconds))
  // The time is the promise: clients give up later than that.
  t.ok(slowest < 3.5, `${slowest.toFixed(2)} s`)
  shows(t, await ready, { status: 503, body: { status: 'unavailable', reason: 'the database is not reachable' } })
  t.match(await api.request('GET', '/healthz'), { status: 200 })

  await wake()
  for (const key of [account.key, stranger]) {
    t.match(await post(key), { status: 200 })
    t.match(await get(key), { status: 200 })
  }
  t.match(await api.request('GET', '/readyz'), { status: 200 })
  const { rows } = await world.pool.pg.query('SELECT count(*) FROM emails')
  t.equal(rows[0].count, 3)
})

t.test('a short send behind a slow commit gets a 503', async t => {
  await world.pool.pg.query(`
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(6); RETURN NULL; END $$;
    CREATE TRIGGER dawdle AFTER INSERT ON emails FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)
  const answered: string[] = []
  const post = async (name: string, text = '') => {
    const answer = await timed(api.request('POST', '/api/emails', { body: { ...email, text } }))
    answered.push(name)
    return answer
  }
  const slow = post('slow')
  const dawdling = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
  await waitUntil(async () => (await world.pool.pg.query(dawdling)).rowCount, 'the first is being stored')
  const long = post('long', 'x'.repeat(5_000_000))
  const others = await Promise.all([post('second'), post('third')])
  t.match(others, Array(2).fill({ status: 503, name: 'sending_service_unavailable', retry_after: '5' }))
  shows(t, [await slow, await long], [{ status: 200 }, { status: 200 }])
  t.same(answered.slice(2), ['slow', 'long'])
  await world.pool.pg.query('DROP FUNCTION dawdle CASCADE')
})

t.test('requests get error envelopes while the database is gone', async t => {
  const { pathname } = new URL(world.config.DATABASE_URL as string)
  const name = pathname.slice(1)
  const admin = new pg.Client({ connectionString: (world.config.DATABASE_URL as string).replace(name, 'postgres') })
  await admin.connect()
  await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])

  const send = () => api.request('POST', '/api/emails', { body: email })
  t.match(await send(), { status: 503, body: { statusCode: 503, name: 'sending_service_unavailable' } })
  const id = '01890000-0000-7000-8000-000000000000'
  const reply = await api.request('POST', `/api/emails/receiving/${id}/reply`, {
    body: { from: email.from, text: 'Hi' },
  })
  shows(t, reply, { status: 503, body: { name: 'sending_service_unavailable' } })
  const contact = { email: 'bob@b.com', domain: account.domain }
  for (const answer of [
    await api.request('POST', '/api/contacts', { body: contact }),
    await api.request('PATCH', `/api/contacts/${id}`, { body: { first_name: 'Bob' } }),
  ]) {
    shows(t, answer, { status: 503, body: { name: 'contacts_busy' } })
    t.equal(answer.headers.get('retry-after'), '5')
  }
  for (const path of ['/api/emails', `/api/emails/${id}`, '/api/api-keys', `/api/contacts/${id}`]) {
    t.match(await api.request('GET', path), { status: 500, body: { statusCode: 500, name: 'internal_server_error' } })
  }
  t.match(await api.request('GET', '/readyz'), { status: 503 })

  await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await admin.end()
  t.match(await send(), { status: 200 })
})
