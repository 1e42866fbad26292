import t from 'tap'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { recordHits } from '#sql/tracking/hits.ts'
import { purge } from '#tasks/purge.ts'
import { begin } from '#test/support/database/locks.ts'
import { insertLogRows, readLogs } from '#test/support/request_log.ts'
import { openWork } from '#test/support/sending.ts'
import { makeHit, makeTracked } from '#test/support/tracking.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pool } = world

t.test('LOG_RETENTION_DAYS limits the request log of every account', async t => {
  const [few, many] = [await newAccount(world), await newAccount(world)]
  const old = { created_at: new Date(Date.now() - 31 * 86_400_000).toJSON() }
  const recent = { created_at: new Date(Date.now() - 29 * 86_400_000).toJSON() }
  const kept = []
  for (const account of [few, many]) kept.push(...(await insertLogRows(pool, account, [old, old, recent, {}])).slice(2))
  await pool.pg.query(
    `INSERT INTO logs (account_id, created_at, method, endpoint, response_status, user_agent)
     SELECT $1, now() - interval '40 days', 'GET', '/emails', 200, '' FROM generate_series(1, 2500)`,
    [many.id],
  )
  await purge({}, openWork(t, world))
  const left = [...(await readLogs(pool, few, 0)), ...(await readLogs(pool, many, 0))]
  t.strictSame(left.map(({ id }) => String(id)).sort(), kept.sort())

  await purge({}, openWork(t, { ...world, config: { ...world.config, LOG_RETENTION_DAYS: 0 } }))
  t.strictSame(await readLogs(pool, few, 0), [])
})

t.test('IP addresses of hits are shortened to networks after 30 days', async t => {
  const email = await makeTracked(world, await newAccount(world))
  const days = (count: number) => -count * 86_400_000
  await recordHits(world.pool, [
    makeHit(email, null, days(31), { ip: '192.0.2.77' }),
    makeHit(email, null, days(32), { ip: '2001:db8:1:2:3::4' }),
    makeHit(email, null, days(33), { ip: null }),
    makeHit(email, null, days(29), { ip: '192.0.2.77', user_agent: 'x' }),
  ])
  const readRows = async () =>
    (
      await pool.pg.query(
        'SELECT ip::text, user_agent, class, xmin FROM tracking_hits WHERE email_id = $1 ORDER BY created_at',
        [email.email_id],
      )
    ).rows
  await purge({}, openWork(t, world))
  const rows = await readRows()
  t.strictSame(
    rows.map(({ ip, user_agent, class: name }) => [ip, user_agent, name]),
    [
      [null, null, 'human'],
      ['2001:db8:1::/48', null, 'human'],
      ['192.0.2.0/24', null, 'human'],
      ['192.0.2.77/32', 'x', 'human'],
    ],
  )
  await purge({}, openWork(t, world))
  t.strictSame(await readRows(), rows, 'addresses that were shortened are not changed again')
})

t.test('events of contacts are deleted after 90 days', async t => {
  const account = await newAccount(world)
  await pool.pg.query(
    `INSERT INTO contact_events (account_id, id, domain_id, contact_id, name)
     SELECT $1, ordered_id(id_time(now() - make_interval(days => n)), n, random_tail()), $2, $1, 'day ' || n FROM generate_series(88, 2000) n`,
    [account.id, account.domain_id],
  )
  await purge({}, openWork(t, world))
  const { rows } = await pool.pg.query('SELECT name FROM contact_events WHERE account_id = $1 ORDER BY id DESC', [
    account.id,
  ])
  t.strictSame(rows, [{ name: 'day 88' }, { name: 'day 89' }])
})

t.test('an import and its errors are deleted 90 days after its end', async t => {
  const account = await newAccount(world)
  const add = async (days: number | null, status: string) => {
    const id = newId()
    await pool.pg.query(
      `INSERT INTO contact_imports (account_id, id, domain_id, options, status, completed_at)
       VALUES ($1, $2, $3, '{}', $4, now() - make_interval(days => $5))`,
      [account.id, id, account.domain_id, status, days],
    )
    await pool.pg.query(
      `INSERT INTO import_errors (account_id, import_id, n, line, outcome, message)
       SELECT $1, $2, n, n, 'failed', 'x' FROM generate_series(1, 12000) n`,
      [account.id, id],
    )
    return id
  }
  await add(91, 'completed')
  await add(92, 'failed')
  const kept = [await add(89, 'completed'), await add(null, 'in_progress')]
  await purge({}, openWork(t, world))
  const { rows } = await pool.pg.query(
    `SELECT i.id, (SELECT count(*)::int FROM import_errors e WHERE e.import_id = i.id) AS errors
     FROM contact_imports i WHERE i.account_id = $1 ORDER BY i.id`,
    [account.id],
  )
  t.strictSame(
    rows,
    kept.map(id => ({ id, errors: 12_000 })),
  )
})

t.test('data that is locked does not keep other data', async t => {
  const account = await newAccount(world)
  await insertLogRows(pool, account, [{ created_at: new Date(Date.now() - 31 * 86_400_000).toJSON() }])
  const key = sql.unsafe`
    INSERT INTO idempotency_keys (account_id, route, key, fingerprint, answer, created_at)
    VALUES (${account.id}, 'x', 'x', '', '{}', now() - interval '25 hours')`
  await pool.run(key)
  const other = await begin(world, tx => {
    return tx.run(sql.unsafe`SELECT FROM idempotency_keys WHERE account_id = ${account.id} FOR UPDATE`)
  })
  await t.rejects(purge({}, openWork(t, world)), { message: 'some data could not be purged' })
  t.strictSame(await readLogs(pool, account, 0), [])
  await other.commit()
  await purge({}, openWork(t, world))
})
