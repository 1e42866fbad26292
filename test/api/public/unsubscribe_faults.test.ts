import t from 'tap'
import { newId } from '#lib/ids.ts'
import { openApi, startProxiedApi } from '#test/support/api.ts'
import { openTransaction, untilBlocked } from '#test/support/database/locks.ts'
import { shows } from '#test/support/shows.ts'
import { makeRecipient, readState } from '#test/support/unsubscribing.ts'
import { waitUntil } from '#test/support/wait_until.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { api, proxy } = await startProxiedApi(t, world, account.key)

const ask = async (method: string, path: string) => {
  const response = await fetch(api.url + path, { method, headers: { 'accept-language': 'de' } })
  return { status: response.status, text: await response.text(), retry_after: response.headers.get('retry-after') }
}
const eventsOf = async (email_id: string) => {
  const { rows } = await world.pool.pg.query(`SELECT FROM email_events WHERE email_id = $1 AND type = 'unsubscribed'`, [
    email_id,
  ])
  return rows.length
}

t.test('an unsubscribe link responds 503 while Postgres is away', async t => {
  const { path, email_id } = await makeRecipient(world, account, 'away@b.com')
  const bad = `${path}A`
  for (const mode of ['refuse', 'blackhole'] as const) {
    proxy[mode](true)
    proxy.cut()
    const state = await readState(world, account)
    for (const method of ['POST', 'GET', 'HEAD']) {
      const { status, text, retry_after } = await ask(method, path)
      shows(t, { status, retry_after }, { status: 503, retry_after: '5' }, `${method}, ${mode}`)
      if (method !== 'HEAD') t.match(text, /Es wurde nichts geändert/)
    }
    t.strictSame(await readState(world, account), state)
    proxy[mode](false)
    t.equal((await ask('GET', path)).status, 200)
    t.equal((await ask('GET', bad)).status, 404)
  }
  // The keys are cached by now: a bad link is refused without Postgres.
  proxy.refuse(true)
  proxy.cut()
  t.equal((await ask('POST', bad)).status, 404)
  proxy.refuse(false)
  t.equal((await ask('POST', path)).status, 200)
  t.equal(await eventsOf(email_id), 1)
})

for (const [cut, text] of [
  ['cutRequest', 'COMMIT'],
  ['cutReply', 'COMMIT'],
  ['cutRequest', 'contact_consents'],
] as const) {
  t.test(`a retried one-click unsubscribes once (${cut} of ${text})`, async t => {
    const { path, email_id } = await makeRecipient(world, account, `${cut}-${text}@b.com`.toLowerCase())
    await ask('GET', path)
    const lost = proxy[cut](text)
    t.equal((await ask('POST', path)).status, 503)
    await lost
    t.equal((await ask('POST', path)).status, 200)
    t.equal(await eventsOf(email_id), 1)
  })
}

t.test('one-click waits for a lock on the contact, and succeeds', async t => {
  const direct = openApi(api.url, account.key)
  const { body } = await direct.request('POST', '/api/contacts', { body: { email: 'held@b.com' } })
  const { path } = await makeRecipient(world, account, 'held@b.com')
  const holder = await openTransaction(t, world)
  await holder.query('SELECT FROM contacts WHERE id = $1 FOR NO KEY UPDATE', [body.id])
  const clicking = ask('POST', path)
  // Longer than other requests wait for a lock.
  await new Promise(resolve => setTimeout(resolve, 4_000))
  await holder.commit()
  t.equal((await clicking).status, 200)
  shows(t, (await direct.request('GET', `/api/contacts/${body.id}`)).body, { unsubscribed: true })
})

t.test('an opt-out survives the concurrent creation of its contact', async t => {
  const own = openApi(api.url, account.key)
  const { pg } = world.pool
  const first = await makeRecipient(world, account, 'first@b.com')
  const adder = await openTransaction(t, world)
  const given = [{ id: newId(), email: 'first@b.com' }]
  await adder.query(`SELECT upsert_contacts($1, $2, $3::json, 'upsert', false, 'api', NULL)`, [
    account.id,
    account.domain_id,
    JSON.stringify(given),
  ])
  const clicking = ask('POST', first.path)
  await untilBlocked(world)
  await adder.commit()
  t.equal((await clicking).status, 200)
  shows(t, (await own.request('GET', '/api/contacts/first@b.com')).body, { unsubscribed: true })

  await pg.query(`
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
    CREATE TRIGGER dawdle AFTER INSERT ON contact_optouts FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)
  const second = await makeRecipient(world, account, 'second@b.com')
  const also_clicking = ask('POST', second.path)
  const sleeping = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
  await waitUntil(async () => (await pg.query(sleeping)).rowCount, 'the click is about to be committed')
  const added = await own.request('POST', '/api/contacts', { body: { email: 'second@b.com' } })
  shows(t, added, { status: 201, body: { unsubscribed: true } })
  t.equal((await also_clicking).status, 200)
  await pg.query('DROP FUNCTION dawdle CASCADE')
  const { rows } = await pg.query(
    'SELECT sum(contacts)::int AS counted, (SELECT count(*)::int FROM contacts WHERE account_id = $1) AS found FROM audience_counts WHERE account_id = $1',
    [account.id],
  )
  t.equal(rows[0].counted, rows[0].found)
})
