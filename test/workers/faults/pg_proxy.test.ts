import pg from 'pg'
import t, { type Test } from 'tap'
import { type PgProxy, startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { createDatabase } from '#test/support/database/database.ts'

t.test('the proxy passes everything through, large results too', async t => {
  const { client } = await setUp(t)
  const text = 'x'.repeat(5_000_000)
  const { rows } = await client.query('SELECT $1::text AS text', [text])
  t.equal(rows[0].text.length, text.length)
})

t.test('the proxy cuts and resets all connections, and refuses new ones', async t => {
  const { proxy } = await setUp(t)
  for (const end of [() => proxy.cut(), () => proxy.reset()]) {
    const client = await dial(t, proxy.url)
    const sleeping = client.query('SELECT pg_sleep(10)')
    setTimeout(end, 50)
    await t.rejects(sleeping, /terminated unexpectedly|ECONNRESET/)
  }
  proxy.refuse(true)
  await t.rejects(dial(t, proxy.url))
  proxy.refuse(false)
  await dial(t, proxy.url)
})

t.test('the proxy holds data back as a black hole or for a delay', async t => {
  const { proxy, client } = await setUp(t)
  proxy.blackhole(true)
  const answer = client.query('SELECT 1')
  t.equal(await Promise.race([answer, later(100, 'nothing')]), 'nothing')
  proxy.blackhole(false)
  t.equal((await answer).rowCount, 1)

  proxy.delay(50)
  const start = performance.now()
  await client.query('SELECT 1')
  t.ok(performance.now() - start > 95, 'in both directions') // a busy machine only adds to a delay
})

t.test('the proxy cuts the nth request before Postgres gets it', async t => {
  const { proxy, client, count } = await setUp(t)
  const cut = proxy.cutRequest('INSERT INTO notes', 2)
  await client.query('INSERT INTO notes VALUES ($1)', [1])
  await t.rejects(client.query('INSERT INTO notes VALUES ($1)', [2]))
  await cut
  t.equal(await count(), 1)
})

t.test('the proxy cuts the reply to the nth request after the commit', async t => {
  const { proxy, client, count } = await setUp(t)
  for (const [nth, text] of ['INSERT INTO notes', 'COMMIT'].entries()) {
    const other = nth === 0 ? client : await dial(t, proxy.url)
    const cut = proxy.cutReply(text)
    await t.rejects(
      (async () => {
        await other.query('BEGIN')
        await other.query('INSERT INTO notes VALUES (1)')
        await other.query('COMMIT')
      })(),
    )
    await cut
    t.equal(await count(), nth, 'a cut before the commit rolls back, one after it does not')
  }
  const autocommit = await dial(t, proxy.url)
  const cut = proxy.cutReply('INSERT INTO notes')
  await t.rejects(autocommit.query('INSERT INTO notes SELECT generate_series(1, $1::int) RETURNING note', [10_000]))
  await cut
  t.equal(await count(), 10_001)
})

async function setUp(t: Test): Promise<{ proxy: PgProxy; client: pg.Client; count: () => Promise<number> }> {
  const url = await createDatabase(t)
  const proxy = await startPgProxy(url)
  t.teardown(() => proxy.close())
  const direct = await dial(t, url)
  await direct.query('CREATE TABLE notes (note int)')
  const count = async () => (await direct.query('SELECT count(*)::int AS count FROM notes')).rows[0].count
  return { proxy, client: await dial(t, proxy.url), count }
}

async function dial(t: Test, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  return client
}

const later = <Value>(ms: number, value: Value) => new Promise<Value>(resolve => setTimeout(resolve, ms, value))
