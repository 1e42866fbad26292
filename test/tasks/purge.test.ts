import t from 'tap'
import { purge } from '#tasks/purge.ts'
import { insertLogRows, readLogs } from '#test/support/request_log.ts'
import { openWork } from '#test/support/sending.ts'
import { makeHit, makeTracked, record } from '#test/support/tracking.ts'
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
  await record(world, [
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
