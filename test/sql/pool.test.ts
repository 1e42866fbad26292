import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import t from 'tap'
import { z } from 'zod'
import { openGraphilePool, silentLogger } from '#sql/graphile.ts'
import { createPool, NoAnswerError, NotConnectedError, type Queryable, sql, sqlState, type Tx } from '#sql/pool.ts'
import { createDatabase } from '#test/support/database/database.ts'

const url = await createDatabase(t)
const pool = createPool(url, { max: 2 })
const other = createPool(url, { max: 1 })
t.teardown(() => Promise.all([pool.end(), other.end()]))
await pool.run(sql.unsafe`CREATE TABLE things (id integer PRIMARY KEY, name text)`)

const Count = z.object({ count: z.int() })
const count = async (db: Queryable = pool) => (await db.one(sql.type(Count)`SELECT count(*) FROM things`)).count
const insert = (id: number) => sql.unsafe`INSERT INTO things VALUES (${id}, 'x')`

t.test('a row that does not match the type of its query throws', async t => {
  const Row = z.object({ id: z.int(), name: z.string() })
  t.strictSame(await pool.one(sql.type(Row)`SELECT 1 AS id, 'a' AS name`), { id: 1, name: 'a' })
  for (const query of [
    sql.type(Row)`SELECT '1' AS id, 'a' AS name`,
    sql.type(Row)`SELECT 1 AS id, NULL AS name`,
    sql.type(Row)`SELECT 1 AS id`,
    sql.type(Row)`SELECT 1.5 AS id, 'a' AS name`,
  ]) {
    await t.rejects(pool.one(query), z.ZodError)
    await t.rejects(pool.any(query), z.ZodError)
    await t.rejects(pool.maybeOne(query), z.ZodError)
    await t.rejects(
      pool.transaction(tx => tx.any(query)),
      z.ZodError,
    )
  }
  await t.rejects(pool.any(sql.type(Row)`SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(id, name)`), z.ZodError)
})

t.test('Postgres types are returned as Date, number, string, Buffer and JSON', async t => {
  const row = await pool.one(sql.type(z.looseObject({}))`
    SELECT '2026-11-21T09:19:04.123Z'::timestamptz AS at, 9007199254740991::bigint AS large, count(*) AS count,
      '01890000-0000-7000-8000-000000000000'::uuid AS id, '\\xff00'::bytea AS bytes, NULL AS nothing, '{"a":[1]}'::jsonb AS json,
      '{a,b}'::text[] AS texts
  `)
  const { at, large, count, id, bytes, ...others } = row
  t.strictSame({ at, large, count }, { at: new Date('2026-11-21T09:19:04.123Z'), large: 9007199254740991, count: 1 })
  t.strictSame({ id, bytes }, { id: '01890000-0000-7000-8000-000000000000', bytes: Buffer.from([0xff, 0]) })
  t.strictSame(others, { nothing: null, json: { a: [1] }, texts: ['a', 'b'] })
})

t.test('a connection that became read-only is replaced after its first write', async t => {
  const setting = `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only`
  await pool.pg.query(`${setting} = on`)
  const fixed = createPool(url, { max: 1 })
  const graphile = openGraphilePool(url, 1, silentLogger)
  t.teardown(() => Promise.all([fixed.end(), graphile.end()]))
  for (const each of [fixed.pg, graphile]) await each.query('SELECT 1')
  await pool.pg.query(`${setting} = off`)

  const writes = [
    () => fixed.run(sql.unsafe`UPDATE things SET name = name`),
    async () => {
      const client = await graphile.connect() // as graphile-worker does; `query` would replace it after any error
      return client
        .query('UPDATE things SET name = name')
        .then(({ rowCount }) => rowCount)
        .finally(() => client.release())
    },
  ]
  for (const write of writes) {
    t.equal(await write().catch(sqlState), '25006')
    t.equal(await write(), 0)
  }
})

t.test('each query method checks the number of rows', async t => {
  const rows = (n: number) => sql.type(z.object({ n: z.int() }))`SELECT n FROM generate_series(1, ${n}) AS n`
  t.strictSame(await pool.any(rows(2)), [{ n: 1 }, { n: 2 }])
  t.strictSame(await pool.maybeOne(rows(1)), { n: 1 })
  t.equal(await pool.maybeOne(rows(0)), null)
  await t.rejects(pool.maybeOne(rows(2)), { message: 'expected at most one row, found 2' })
  await t.rejects(pool.one(rows(0)), { message: 'expected one row, found none' })
  await t.rejects(pool.one(rows(2)), { message: 'expected at most one row, found 2' })
  t.equal(await pool.run(sql.unsafe`SELECT generate_series(1, 3)`), 3)
})

t.test('values are sent as parameters, never as SQL text', async t => {
  const hostile = `'; DROP TABLE things; -- $1 $slonik_1`
  t.strictSame(await pool.one(sql.type(z.object({ x: z.string() }))`SELECT ${hostile}::text AS x`), { x: hostile })
  const values = Array.from({ length: 12 }, (_, i) => sql.fragment`${i}::int`)
  const query = sql.type(
    z.object({ list: z.array(z.int()) }),
  )`SELECT ARRAY[${sql.join(values, sql.fragment`, `)}] AS list`
  t.strictSame(await pool.one(query), { list: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] })
})

t.test('a transaction that throws is rolled back, and the pool stays usable', async t => {
  const before = await count()
  for (let i = 0; i < 5; i++) {
    const own = pool.transaction(async tx => {
      await tx.run(insert(1))
      throw new Error('mine')
    })
    await t.rejects(own, { message: 'mine' })
    const refused = pool.transaction(async tx => {
      await tx.run(insert(1))
      await tx.run(insert(1)).catch(() => {}) // swallowed here, but the transaction has failed all the same
      await tx.run(insert(2))
    })
    await t.rejects(refused, { code: '25P02' })
  }
  t.equal(await count(), before)
  t.ok(pool.pg.totalCount <= 2)
  t.equal(pool.pg.idleCount, pool.pg.totalCount)

  t.equal(await pool.transaction(async tx => (await tx.run(insert(3))) + (await tx.run(insert(4)))), 2)
  t.equal(await count(), before + 2)
})

t.test('a transaction rejects when one of its statements failed, even if the error was swallowed', async t => {
  await t.rejects(pool.transaction(tx => tx.run(sql.unsafe`SELECT 1 / 0`).catch(() => 0)))
})

t.test('other connections see a transaction only after its commit', async t => {
  const before = await count()
  await pool.transaction(async tx => {
    await tx.run(insert(10))
    t.equal(await count(other), before)
  })
  t.equal(await count(), before + 1)
})

t.test('a broken connection is replaced and its transaction rolled back', async t => {
  const before = await count()
  const broken = pool.transaction(async tx => {
    await tx.run(insert(20))
    const { pid } = await tx.one(sql.type(z.object({ pid: z.int() }))`SELECT pg_backend_pid() AS pid`)
    await other.run(sql.unsafe`SELECT pg_terminate_backend(${pid})`)
    await tx.run(insert(21))
  })
  await t.rejects(broken)
  t.equal(await count(), before)
})

t.test('sqlState returns the code of an error from Postgres, otherwise null', async t => {
  const refused = await pool.run(sql.unsafe`SELECT 1 / 0`).catch(error => error)
  t.equal(sqlState(refused), '22012')
  t.equal(sqlState(new Error('anything')), null)
  t.equal(sqlState(undefined), null)

  const nowhere = createPool('postgres://127.0.0.1:1/none')
  const refusedToo = await nowhere.run(sql.unsafe`SELECT 1`).catch(error => error)
  t.ok(refusedToo instanceof NotConnectedError)
  t.match(refusedToo, { message: /ECONNREFUSED/ })
  await nowhere.end()
})

t.test('a connection lost during a statement throws NoAnswerError', async t => {
  const lost = createPool(url, { max: 1 })
  lost.pg.once('connect', client => setTimeout(() => (client as unknown as pg.Client).connection.stream.destroy(), 50))
  const unanswered = await lost.run(sql.unsafe`SELECT pg_sleep(1)`).catch(error => error)
  t.ok(unanswered instanceof NoAnswerError, `${unanswered}`)
  t.equal(sqlState(unanswered), null)
  t.equal(await lost.run(sql.unsafe`SELECT 1`), 1, 'the next statement gets a new connection')
  await lost.end()
})

t.test('a connection that met an internal error of Postgres is replaced', async t => {
  const backend = () => other.one(sql.type(z.object({ pid: z.int() }))`SELECT pg_backend_pid() AS pid`)
  const { pid } = await backend()
  const fail = sql.unsafe`DO $$ BEGIN RAISE 'cache lookup failed' USING ERRCODE = 'XX000'; END $$`
  await t.rejects(other.run(fail), { code: 'XX000' })
  const { pid: next } = await backend()
  t.not(next, pid)
  await t.rejects(
    other.transaction(tx => tx.run(fail)),
    { code: 'XX000' },
  )
  t.not((await backend()).pid, next)
})

t.test('statements, locks and idle transactions have timeouts', async t => {
  const { rows } = await pool.pg.query(
    `SELECT name, setting FROM pg_settings WHERE name IN
      ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'application_name') ORDER BY name`,
  )
  t.strictSame(
    rows.map(({ name, setting }) => `${name} ${setting.replace(/ [0-9a-f]{12}$/, ' (id)')}`),
    [
      'application_name mailbrook (id)',
      'idle_in_transaction_session_timeout 30000',
      'lock_timeout 3000',
      'statement_timeout 15000',
    ],
  )
  t.match(pool.pg.options, { connectionTimeoutMillis: 2_000, query_timeout: 17_000, keepAlive: true })
})

t.test('tsc rejects a Pool where a Tx is required', async t => {
  // @ts-expect-error: tsc fails here once a Pool passes for a Tx
  const tx: Tx = pool
  t.equal(tx.tx, undefined)
})

t.test('a pool refuses its own queries inside a transaction', async t => {
  const message = /inside its own transaction/
  let later = () => Promise.resolve(0)
  await pool.transaction(async tx => {
    await t.rejects(count(), { message })
    await t.rejects(
      pool.transaction(tx => tx.run(insert(30))),
      { message },
    )
    await Promise.all([t.rejects(pool.run(insert(30)), { message }), t.resolves(tx.run(insert(31)))])
    t.equal(await count(tx), (await count(other)) + 1, 'another pool is not affected')
    later = AsyncLocalStorage.bind(count)
  })
  t.equal(await later(), await count(), 'after the transaction')
})
