import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startProxiedApi } from '#test/support/api.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { openTransaction } from '#test/support/database/locks.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { api, proxy, pool } = await startProxiedApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi', text: 'Hello' }
const query = (text: string, values: unknown[] = []) => world.pool.pg.query(text, values)

const countEmails = async () => Number((await query('SELECT count(*) FROM emails')).rows[0].count)
const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`

/** Makes INSERTs into this table wait, before they commit, for as long as \`cutWhileAtWork\` asks. */
async function holdUp(t: Test, table: string): Promise<void> {
  await query(`
    CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;
    CREATE TRIGGER hold_up AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION hold_up()`)
  t.teardown(() => query('DROP FUNCTION hold_up CASCADE'))
}

/** Sends requests, and cuts all connections while a statement of theirs waits, which goes on once it is known to be lost. */
async function cutWhileAtWork<Answer>(t: Test, send: () => Promise<Answer>): Promise<Answer> {
  const holder = await openTransaction(t, world)
  await holder.query('SELECT pg_advisory_xact_lock(1)')
  const answer = send()
  const lost = await waitUntil(async () => {
    const { rows } = await query(waiting)
    return rows.length > 0 && rows.map(({ pid }) => pid)
  }, 'a statement is at work')
  proxy.cut()
  const alive = 'SELECT FROM pg_stat_activity WHERE pid = ANY ($1)'
  await waitUntil(async () => (await query(alive, [lost])).rowCount === 0, 'it was canceled')
  await holder.rollback()
  return answer
}

t.test('a connection lost during accept stores no email that got a 503', async t => {
  await holdUp(t, 'emails')
  const before = await countEmails()
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) {
    const posts = () =>
      Promise.all(Array.from({ length: 5 }, () => api.request('POST', '/api/emails', { body: email })))
    statuses.push(...(await cutWhileAtWork(t, posts)).map(({ status }) => status))
  }
  const count = (wanted: number) => statuses.filter(status => status === wanted).length
  t.ok(count(503) >= 3, 'each round lost the requests whose statement was running')
  t.equal(count(200) + count(503), statuses.length)
  t.equal(await countEmails(), before + count(200))
})

t.test('a connection lost at the commit of an email still gets a 200', async t => {
  const before = await countEmails()
  const cut = proxy.cutReply('accept_emails')
  const answer = await api.request('POST', '/api/emails', { body: email })
  await cut
  t.equal(answer.status, 200)
  t.equal(await countEmails(), before + 1)
})

t.test('a connection lost at the commit of an event still gets a 202 with the stored event', async t => {
  const [contact_id] = await addContacts(world, account, ['ann@b.com'])
  const cut = proxy.cutReply('ingest_events')
  const body = { event: 'x', domain: account.domain, contact_id }
  const answer = await api.request('POST', '/api/events/send', { body })
  await cut
  t.equal(answer.status, 202)
  t.strictSame((await query('SELECT id, contact_id FROM contact_events')).rows, [{ id: answer.body.id, contact_id }])
})

t.test('a connection lost while a batch is opened leaves no batch', async t => {
  await holdUp(t, 'batches')
  const { status } = await cutWhileAtWork(t, () => api.request('POST', '/api/emails/batch', { body: [email, email] }))
  t.equal(status, 503)
  t.same((await query('SELECT id FROM batches')).rows, [])
})

t.test('a Postgres that drops all packets', async t => {
  const ANSWER_MS = 5_000
  const inTime = async (request: ReturnType<typeof api.request>) => {
    const limit = new AbortController()
    const late = sleep(ANSWER_MS, { status: 'none within 5 s' }, { signal: limit.signal }).catch(() => null)
    return Promise.race([request, late]).finally(() => limit.abort())
  }
  const statusOf = async (path: string) => (await api.request('GET', path)).status

  await t.test('makes requests fail within 5 seconds, and a retry with a key send once', async t => {
    t.equal(await statusOf('/api/emails'), 200) // so that the key is cached and connections are open
    const before = await countEmails()
    proxy.blackhole(true)
    const send = () =>
      api.request('POST', '/api/emails', { body: email, headers: { 'idempotency-key': 'in the black hole' } })
    const first = send()
    await sleep(1_000)
    const requests = [
      first,
      api.request('POST', '/api/emails', { body: email }),
      api.request('GET', '/api/emails'),
      api.request('GET', '/api/emails', { key: account.sending_key }),
      api.request('POST', '/api/emails/batch', { body: [email] }),
    ]
    const answers = await Promise.all(requests.map(inTime))
    t.same(
      answers.map(answer => answer?.status),
      [503, 503, 500, 500, 503],
    )
    proxy.blackhole(false)
    await waitUntil(async () => (await send()).status === 200, 'the request is accepted')
    const { rows } = await query('SELECT count(DISTINCT email_id)::int AS emails FROM deliveries')
    t.equal(rows[0].emails, await countEmails())
    t.ok((await countEmails()) - before <= 2, 'the email with the key, and the one whose caller got no response')
    const keys = await query(`SELECT FROM idempotency_keys WHERE key = 'in the black hole'`)
    t.equal(keys.rowCount, 1)
  })
})

t.test('/healthz fails if Postgres has not responded for 30 seconds', async t => {
  const health = async () => {
    const { status, body } = await api.request('GET', '/healthz', { key: null })
    return [status, body]
  }
  const wait = (ms: number) => {
    pool.watchdog.answered_at -= ms
  }
  proxy.blackhole(true)
  wait(25_000)
  t.same(await health(), [200, { status: 'ok' }])
  wait(5_000)
  t.same(await health(), [503, { status: 'unavailable', reason: 'the database does not respond' }])
  proxy.blackhole(false)
  t.same(await health(), [200, { status: 'ok' }])
})

t.test('a slow statement is not aborted while Postgres responds to others', async t => {
  await query(`
    CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(4); RETURN NULL; END $$;
    CREATE TRIGGER linger AFTER INSERT ON emails FOR EACH STATEMENT EXECUTE FUNCTION linger()`)
  t.equal((await api.request('POST', '/api/emails', { body: email })).status, 200)
  await query('DROP FUNCTION linger CASCADE')
})
